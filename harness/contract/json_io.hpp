#pragma once
// JSON in and out for every file of the contract: strict, finite, independent of the locale.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stepgauge {

using Json = nlohmann::json;

// Paths are strings here: this room is linked into the worker, and libtorch_cpu exports an std::filesystem of its own
// that a program built by another GCC must not be bound to.

/// A document that does not follow the contract; what() names the file or field and what was expected.
class ContractError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One-line JSON. Numbers survive a round trip exactly. Throws ContractError naming the field (as a JSON
/// pointer) when a number is not finite; invalid UTF-8 in strings is replaced by U+FFFD.
std::string dump_line(const Json& value);
std::string dump_pretty(const Json& value);

/// Parses strict JSON (no comments, no duplicate keys, no NaN). `origin` is named in the error.
Json parse_json(std::string_view text, std::string_view origin);

/// Reads a regular file of at most `max_bytes`; ContractError when it is missing, a folder, a FIFO, or too
/// large.
std::string read_text_file(const std::string& path, std::size_t max_bytes = 256u << 20);

/// Writes atomically: temporary file beside it, fsync, rename. Throws std::system_error; the old file stays
/// on failure.
void write_text_file(const std::string& path, std::string_view text);

/// Requires `value[key]` to be there and of type T; the error names `where` and the key.
template <typename T>
T require(const Json& value, const char* key, std::string_view where) {
  const auto it = value.is_object() ? value.find(key) : value.end();
  if (!value.is_object() || it == value.end()) {
    throw ContractError(std::string(where) + ": \"" + key + "\" is missing");
  }
  try {
    return it->template get<T>();
  } catch (const nlohmann::json::exception&) {
    throw ContractError(std::string(where) + ": \"" + key + "\" has the wrong type (" + it->type_name() + ")");
  }
}

/// `value[key]` where it is there and not null, else `fallback`.
template <typename T>
T optional(const Json& value, const char* key, T fallback, std::string_view where) {
  if (!value.is_object() || !value.contains(key) || value.at(key).is_null()) return fallback;
  return require<T>(value, key, where);
}

}  // namespace stepgauge
