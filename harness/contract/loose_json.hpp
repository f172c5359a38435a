#pragma once
// Reading the free parts of a record: what is missing or of another type is unknown, never an error.
#include <optional>
#include <string>

#include "contract/record.hpp"

namespace stepgauge::loose {

inline const Json& part(const Json& value, const char* key) {
  static const Json none;
  if (!value.is_object()) return none;
  const auto found = value.find(key);
  return found == value.end() ? none : *found;
}

inline const Json& part(const RankRecord& rank, const char* key) {
  return part(rank.detail, key);
}

/// The item itself; empty where it is no array.
inline const Json& list(const Json& value, const char* key) {
  static const Json none = Json::array();
  const auto& found = part(value, key);
  return found.is_array() ? found : none;
}

inline std::optional<double> number(const Json& value, const char* key) {
  const auto& found = part(value, key);
  return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
}

inline std::string text(const Json& value, const char* key) {
  const auto& found = part(value, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

inline bool flag(const Json& value, const char* key) {
  const auto& found = part(value, key);
  return found.is_boolean() && found.get<bool>();
}

}  // namespace stepgauge::loose
