#pragma once
// Typed reading: the field says the type, the text is read by it, and what does not fit is an error that says what
// was expected. Nothing is guessed from how a loader would take the text. `where` is the field's path in messages.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"

namespace stepgauge::config {

[[noreturn]] void fail(const Mark& mark, std::string_view message);

/// `file:line` for messages that name a second place.
std::string place(const Mark& mark);

/// What stands there, for "..., found X".
std::string describe(const Node& node);

/// A scalar as text, in quotes or not. Control characters are refused.
std::string read_text(const Node& node, std::string_view where, std::string_view expected = "a string");

/// Decimal digits, never in quotes; `25.0`, `0x10` and `1_000` are refused.
std::int64_t read_integer(const Node& node, std::string_view where, std::int64_t min, std::int64_t max);

/// YAML 1.2 core or JSON number, finite, never in quotes; `1e-3`, `1E-3` and `.001` are 0.001.
double read_number(const Node& node, std::string_view where, double min, double max);

/// true or false; on, off, yes, no, 0 and 1 are refused by name.
bool read_bool(const Node& node, std::string_view where);

/// "500ms", "90s", "10m", "1h", or a number of seconds. In seconds.
double read_duration(const Node& node, std::string_view where, double min_s);

/// "5%" is 0.05; a number is a fraction.
double read_fraction(const Node& node, std::string_view where);

/// "5%" is 5, and so is the number 5.
double read_percent(const Node& node, std::string_view where, double max);

/// One of `known`; anything else is refused with the nearest name.
std::string read_choice(const Node& node, std::string_view where, std::span<const std::string> known);

/// [A-Za-z0-9_.-]+, not starting with "." or "-".
std::string read_name(const Node& node, std::string_view where);

const Node& require_list(const Node& node, std::string_view where, std::string_view of);

/// A map whose keys are all among `known`.
const Node& require_map(const Node& node, std::string_view where, std::span<const std::string> known);
const Node& require_map(const Node& node, std::string_view where);

}  // namespace stepgauge::config
