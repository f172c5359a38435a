#include "verdict/detail/outcome.hpp"

#include <fmt/format.h>

namespace stepgauge::verdict::detail {

std::size_t Outcome::failed() const {
  return launches - ok() - count(Status::skipped) - count(Status::unsupported) - count(Status::disturbed);
}

std::string Outcome::text() const {
  std::string out;
  for (const auto status : all_statuses()) {
    if (count(status) == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count(status), to_string(status));
  }
  return out.empty() ? "no launch" : out;
}

Outcome outcome_of(const CellResults& cell) {
  Outcome out;
  for (const auto& launch : cell.launches) ++out.by_status.at(static_cast<std::size_t>(launch.status));
  out.launches = cell.launches.size();
  return out;
}

}  // namespace stepgauge::verdict::detail
