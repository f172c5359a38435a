#pragma once
// Reads the plain data of a Python pickle (protocols 2 to 5): None, bool, int, float, str, bytes, list, tuple, dict. An
// opcode that would import, call or build anything is refused by its name; nothing of a pickle is ever run.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge::replay::detail {

class Pickle {
 public:
  enum class Type : std::uint8_t { none, boolean, integer, real, text, list, tuple, dict };

  struct Value {
    Type type = Type::none;
    std::int64_t integer = 0;  ///< of boolean and integer
    double real = 0;
    std::string_view text;             ///< of str and bytes; points into the file's text
    std::vector<std::uint32_t> items;  ///< of a dict key, value, key, value, ...
  };

  /// `text` must outlive it. Throws ContractError with `origin`, the offset and what was expected; more values than
  /// `most_values` are refused.
  Pickle(std::string_view text, std::string_view origin, std::size_t most_values);

  const Value& root() const { return values_[root_]; }
  const Value& at(std::uint32_t index) const { return values_[index]; }
  /// The value of a key that is a text; nullptr where there is none.
  const Value* find(const Value& dict, std::string_view key) const;

  /// As JSON, without the key `leave_out`. Shared values are repeated, so each one counts: `left` goes down, and below
  /// 0, or beyond 32 levels, ContractError is thrown. Bytes become text; a dict's keys that are no texts are left out.
  Json json(const Value& value, std::size_t& left, std::string_view leave_out = {}) const;

 private:
  friend class PickleMachine;
  Json json(const Value& value, std::size_t& left, std::string_view leave_out, int depth) const;

  std::string origin_;
  std::vector<Value> values_;
  std::uint32_t root_ = 0;
};

}  // namespace stepgauge::replay::detail
