#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "contract/result_set.hpp"

namespace stepgauge::verdict::detail {

/// How the launches of a cell ended.
struct Outcome {
  std::array<std::size_t, 10> by_status{};  ///< indexed by Status
  std::size_t launches = 0;

  std::size_t count(Status status) const { return by_status[static_cast<std::size_t>(status)]; }
  std::size_t ok() const { return count(Status::ok); }
  /// Neither ok nor left out on purpose, nor disturbed by others.
  std::size_t failed() const;
  std::string text() const;  ///< "2 ok, 1 crashed"; "no launch"
};

Outcome outcome_of(const CellResults& cell);

}  // namespace stepgauge::verdict::detail
