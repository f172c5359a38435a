#pragma once
// A value that may be unknown, in JSON.
#include <optional>

#include "contract/json_io.hpp"

namespace stepgauge {

/// null where there is none: schemas say "number or null", never 0 or -1.
template <typename Value>
Json json_of(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace stepgauge
