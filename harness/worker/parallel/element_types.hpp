#pragma once
// Element types under the names of docs/collective_log.md, which are PyTorch's own: "float32", "bfloat16", ...
#include <c10/core/ScalarType.h>

#include <array>
#include <optional>
#include <string_view>

namespace stepgauge::worker {

struct NamedType {
  const char* name;
  c10::ScalarType type;
};

inline constexpr std::array<NamedType, 10> named_types{{{"float32", c10::ScalarType::Float},
                                                        {"bfloat16", c10::ScalarType::BFloat16},
                                                        {"float16", c10::ScalarType::Half},
                                                        {"float64", c10::ScalarType::Double},
                                                        {"int64", c10::ScalarType::Long},
                                                        {"int32", c10::ScalarType::Int},
                                                        {"int16", c10::ScalarType::Short},
                                                        {"int8", c10::ScalarType::Char},
                                                        {"uint8", c10::ScalarType::Byte},
                                                        {"bool", c10::ScalarType::Bool}}};

/// c10's own name where the table has none.
inline const char* type_name(c10::ScalarType type) {
  for (const auto& one : named_types) {
    if (one.type == type) return one.name;
  }
  return c10::toString(type);
}

inline std::optional<c10::ScalarType> type_named(std::string_view name) {
  for (const auto& one : named_types) {
    if (one.name == name) return one.type;
  }
  return std::nullopt;
}

}  // namespace stepgauge::worker
