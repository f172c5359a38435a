#include "verdict/detail/row_reading.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "contract/suggest.hpp"

namespace stepgauge::verdict::detail {
namespace {

/// The value whose name stands under `key`; ContractError naming the nearest one otherwise.
template <typename Value, std::size_t size>
Value named(const Json& value, const char* key, const std::array<std::pair<const char*, Value>, size>& names,
            std::string_view where) {
  const auto text = require<std::string>(value, key, where);
  std::vector<std::string> known;
  for (const auto& [name, found] : names) {
    if (text == name) return found;
    known.emplace_back(name);
  }
  throw ContractError(fmt::format("{}: \"{}\" is \"{}\"{}", where, key, text, suggestion(text, known)));
}

}  // namespace

std::optional<double> number_from(const Json& value, const char* key, std::string_view where) {
  if (require<Json>(value, key, where).is_null()) return std::nullopt;
  return require<double>(value, key, where);
}

Verdict verdict_from(const Json& value, std::string_view where) {
  static constexpr std::array<std::pair<const char*, Verdict>, 6> names{{{"pass", Verdict::pass},
                                                                         {"regressed", Verdict::regressed},
                                                                         {"improved", Verdict::improved},
                                                                         {"inconclusive", Verdict::inconclusive},
                                                                         {"invalid", Verdict::invalid},
                                                                         {"missing", Verdict::missing}}};
  return named(value, "verdict", names, where);
}

Better better_from(const Json& value, std::string_view where) {
  static constexpr std::array<std::pair<const char*, Better>, 3> names{
      {{"lower", Better::lower}, {"higher", Better::higher}, {"neither", Better::neither}}};
  return named(value, "better", names, where);
}

Scale scale_from(const Json& value, std::string_view where) {
  static constexpr std::array<std::pair<const char*, Scale>, 2> names{
      {{"ratio", Scale::ratio}, {"points", Scale::points}}};
  return named(value, "scale", names, where);
}

ExitCode exit_code_from(const Json& value, std::string_view where) {
  const auto code = require<int>(value, "exit_code", where);
  if (code < 0 || code > 5) throw ContractError(fmt::format("{}: \"exit_code\" is {}; expected 0 to 5", where, code));
  return static_cast<ExitCode>(code);
}

Counts counts_from(const Json& value, const char* key, std::string_view where) {
  const auto counts = require<Json>(value, key, where);
  const auto inside = fmt::format("{}: {}", where, key);
  Counts out;
  out.expected = require<std::size_t>(counts, "expected", inside);
  out.compared = require<std::size_t>(counts, "compared", inside);
  out.passed = require<std::size_t>(counts, "passed", inside);
  out.regressed = require<std::size_t>(counts, "regressed", inside);
  out.improved = require<std::size_t>(counts, "improved", inside);
  out.inconclusive = require<std::size_t>(counts, "inconclusive", inside);
  out.invalid = require<std::size_t>(counts, "invalid", inside);
  out.missing = require<std::size_t>(counts, "missing", inside);
  return out;
}

std::vector<FieldDifference> differences_from(const Json& value, const char* key, std::string_view where) {
  std::vector<FieldDifference> out;
  const auto inside = fmt::format("{}: {}", where, key);
  for (const auto& item : require<std::vector<Json>>(value, key, where)) {
    out.push_back({require<std::string>(item, "field", inside), require<std::string>(item, "base", inside),
                   require<std::string>(item, "head", inside), require<std::size_t>(item, "cells", inside)});
  }
  return out;
}

void require_schema(const Json& value, const char* schema, int version, std::string_view where) {
  const auto found = require<std::string>(value, "schema", where);
  if (found != schema) throw ContractError(fmt::format("{}: the schema is \"{}\"; expected {}", where, found, schema));
  const auto number = require<int>(value, "version", where);
  if (number != version) {
    throw ContractError(fmt::format("{}: version {} of {}; this program reads version {}{}", where, number, schema,
                                    version, number > version ? ": use a newer one" : ""));
  }
}

void require_counts(const Counts& found, Counts of_rows, ExitCode code, bool comparable, std::string_view where) {
  of_rows.expected = found.expected;
  if (to_json(found) != to_json(of_rows)) {
    throw ContractError(fmt::format("{}: the counts are not those of the rows ({} / {}): the file was edited or cut",
                                    where, dump_line(to_json(found)), dump_line(to_json(of_rows))));
  }
  const auto expected = comparable ? exit_code_of(found) : ExitCode::not_comparable;
  if (code != expected) {
    throw ContractError(fmt::format("{}: \"exit_code\" is {}, the rows come to {}: the file was edited", where,
                                    static_cast<int>(code), static_cast<int>(expected)));
  }
}

}  // namespace stepgauge::verdict::detail
