#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "config/config_error.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config {
namespace {

constexpr std::size_t max_text = 4096;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits(std::string_view text, std::size_t at) {
  const auto begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at - begin;
}

bool is_integer(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && digits(text, 0) == text.size();
}

/// YAML 1.2 core schema: [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_number(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto whole = digits(text, at);
  at += whole;
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') fraction = digits(text, ++at);
  at += fraction;
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const auto exponent = digits(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

/// Independent of the locale; empty when out of the range of a double.
std::optional<double> to_number(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value == 0 ? 0 : value;  // no negative zero
}

/// Why a text that looks like a number is none.
std::string number_hint(const Node& node) {
  std::string lower(node.text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (node.kind == Node::Kind::quoted && is_number(node.text)) return " (remove the quotes)";
  if (lower.find("inf") != std::string::npos || lower.find("nan") != std::string::npos) return " (numbers are finite)";
  const auto start = lower.find_first_not_of("+-");
  if (start == std::string::npos || !(is_digit(lower[start]) || lower[start] == '.')) return "";
  const auto body = std::string_view(lower).substr(start);
  if (body.substr(0, 2) == "0x" || body.substr(0, 2) == "0o" || body.substr(0, 2) == "0b")
    return " (write it in decimal)";
  if (body.find('_') != std::string_view::npos) return " (digits without underscores)";
  if (body.find(',') != std::string_view::npos) return " (digits without commas)";
  return " (a plain number without a unit)";
}

[[noreturn]] void mismatch(const Node& node, std::string_view where, std::string_view expected,
                           std::string_view hint = "") {
  fail(node.mark, fmt::format("{}: expected {}, found {}{}", where, expected, describe(node), hint));
}

std::string range_text(double min, double max) {
  return fmt::format("{:.15g} to {:.15g}", min, max);
}

/// Value of a text that ends in `%`, divided by 100 where `as_fraction`; exact to the last digit.
std::optional<double> percent_value(std::string_view text, bool as_fraction) {
  if (text.empty() || text.back() != '%') return std::nullopt;
  text.remove_suffix(1);
  if (!is_number(text)) return std::nullopt;
  if (!as_fraction) return to_number(text);
  if (text.find_first_of("eE") == std::string_view::npos) return to_number(std::string(text) + "e-2");
  const auto value = to_number(text);
  return value ? std::optional(*value / 100) : value;
}

}  // namespace

void fail(const Mark& mark, std::string_view message) {
  throw ConfigError(mark.file ? *mark.file : "", mark.line, mark.column, message);
}

std::string place(const Mark& mark) {
  return fmt::format("{}:{}", mark.file ? *mark.file : "", mark.line);
}

std::string describe(const Node& node) {
  const auto shown = node.text.size() > 80 ? node.text.substr(0, 77) + "..." : node.text;
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::plain:
      return shown;
    case Node::Kind::quoted:
      return "the string \"" + shown + "\"";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "";
}

std::string read_text(const Node& node, std::string_view where, std::string_view expected) {
  if (!node.is_text()) mismatch(node, where, expected);
  if (node.text.size() > max_text) fail(node.mark, fmt::format("{}: longer than {} bytes", where, max_text));
  const auto control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  if (std::any_of(node.text.begin(), node.text.end(), control))
    fail(node.mark, fmt::format("{}: a control character in the string", where));
  return node.text;
}

std::int64_t read_integer(const Node& node, std::string_view where, std::int64_t min, std::int64_t max) {
  if (node.kind != Node::Kind::plain || !is_integer(node.text)) {
    auto hint = node.is_text() ? number_hint(node) : "";
    if (node.kind == Node::Kind::plain && is_number(node.text)) hint = " (digits only)";
    mismatch(node, where, "an integer", hint);
  }
  std::string_view text = node.text;
  if (text[0] == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < min || value > max)
    mismatch(node, where, fmt::format("an integer from {} to {}", min, max));
  return value;
}

double read_number(const Node& node, std::string_view where, double min, double max) {
  if (node.kind != Node::Kind::plain || !is_number(node.text))
    mismatch(node, where, "a number", node.is_text() ? number_hint(node) : "");
  const auto value = to_number(node.text);
  if (!value || *value < min || *value > max) mismatch(node, where, "a number from " + range_text(min, max));
  return *value;
}

bool read_bool(const Node& node, std::string_view where) {
  static constexpr std::array yes{"true", "True", "TRUE"}, no{"false", "False", "FALSE"};
  if (node.kind == Node::Kind::plain) {
    if (std::find(yes.begin(), yes.end(), node.text) != yes.end()) return true;
    if (std::find(no.begin(), no.end(), node.text) != no.end()) return false;
  }
  std::string lower(node.text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  std::string_view hint;
  if (node.is_text()) {
    if (lower == "on" || lower == "yes" || lower == "y" || lower == "1") hint = " (write true)";
    if (lower == "off" || lower == "no" || lower == "n" || lower == "0") hint = " (write false)";
    if (lower == "true" || lower == "false") hint = " (remove the quotes)";
  }
  mismatch(node, where, "true or false", hint);
}

double read_duration(const Node& node, std::string_view where, double min_s) {
  constexpr double max_s = 30.0 * 24 * 3600;
  static constexpr std::string_view expected = "a duration such as 90s, 10m or 1h, or a number of seconds";
  if (!node.is_text()) mismatch(node, where, expected);
  const auto unit_at = node.text.find_last_of("0123456789.") + 1;
  const auto number = std::string_view(node.text).substr(0, unit_at);
  const auto unit = std::string_view(node.text).substr(unit_at);
  double scale = 0;
  if (unit.empty() && node.kind == Node::Kind::plain) scale = 1;
  if (unit == "ms") scale = 1e-3;
  if (unit == "s") scale = 1;
  if (unit == "m") scale = 60;
  if (unit == "h") scale = 3600;
  if (scale == 0 || !is_number(number)) mismatch(node, where, expected);
  const auto value = to_number(number);
  const double seconds = value ? *value * scale : -1;
  if (seconds < min_s || seconds > max_s) mismatch(node, where, fmt::format("a duration from {:g}s to 30 days", min_s));
  return seconds;
}

double read_fraction(const Node& node, std::string_view where) {
  static constexpr std::string_view expected = "a percentage such as 5%, or a fraction from 0 to 1";
  const auto percent = node.is_text() ? percent_value(node.text, true) : std::nullopt;
  if (!percent && (node.kind != Node::Kind::plain || !is_number(node.text))) mismatch(node, where, expected);
  const auto value = percent ? percent : to_number(node.text);
  if (!value || *value < 0 || *value > 1) {
    const bool whole = !percent && value && *value > 1 && *value <= 100;
    mismatch(node, where, expected, whole ? " (write " + node.text + "%)" : "");
  }
  return *value;
}

double read_percent(const Node& node, std::string_view where, double max) {
  static constexpr std::string_view expected = "a percentage such as 5% or 5";
  const auto percent = node.is_text() ? percent_value(node.text, false) : std::nullopt;
  if (!percent && (node.kind != Node::Kind::plain || !is_number(node.text))) mismatch(node, where, expected);
  const auto value = percent ? percent : to_number(node.text);
  if (!value || *value < 0 || *value > max) mismatch(node, where, "a percentage from " + range_text(0, max));
  return *value;
}

std::string read_choice(const Node& node, std::string_view where, std::span<const std::string> known) {
  auto text = read_text(node, where);
  if (std::find(known.begin(), known.end(), text) == known.end())
    fail(node.mark, fmt::format("{}: unknown value \"{}\"{}", where, text, suggestion(text, known)));
  return text;
}

std::string read_name(const Node& node, std::string_view where) {
  auto text = read_text(node, where, "a name");
  const auto allowed = [](char c) {
    return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '.' || c == '-';
  };
  if (text.empty() || text.size() > 100 || text[0] == '.' || text[0] == '-' ||
      !std::all_of(text.begin(), text.end(), allowed))
    mismatch(node, where, "a name of 1 to 100 letters, digits, _ . - (not starting with . or -)");
  return text;
}

const Node& require_list(const Node& node, std::string_view where, std::string_view of) {
  if (node.kind != Node::Kind::list) mismatch(node, where, fmt::format("a list of {}", of));
  if (node.items.empty()) fail(node.mark, fmt::format("{}: the list is empty; expected {}", where, of));
  return node;
}

const Node& require_map(const Node& node, std::string_view where) {
  if (node.kind != Node::Kind::map) mismatch(node, where, "a map");
  return node;
}

const Node& require_map(const Node& node, std::string_view where, std::span<const std::string> known) {
  require_map(node, where);
  for (const auto& entry : node.entries) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      fail(entry.mark, fmt::format("{}unknown key \"{}\"{}", where.empty() ? "" : fmt::format("{}: ", where), entry.key,
                                   suggestion(entry.key, known)));
    }
  }
  return node;
}

}  // namespace stepgauge::config
