#pragma once
// Reading the `sizes` object of a cell.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace stepgauge::workloads {

/// The integer `key` of `sizes`; std::invalid_argument naming family and key where it is missing, no integer
/// or below `min`.
inline int64_t read_size(const std::string& family, const nlohmann::json& sizes, const std::string& key, int64_t min) {
  const auto it = sizes.find(key);
  if (it == sizes.end()) throw std::invalid_argument(family + ": size '" + key + "' is missing");
  if (!it->is_number_integer()) {
    throw std::invalid_argument(family + ": size '" + key + "' is not an integer: " + it->dump());
  }
  const auto value = it->get<int64_t>();
  if (value < min) {
    throw std::invalid_argument(family + ": size '" + key + "' is " + std::to_string(value) + ", less than " +
                                std::to_string(min));
  }
  return value;
}

}  // namespace stepgauge::workloads
