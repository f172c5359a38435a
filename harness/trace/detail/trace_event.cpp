#include "trace/detail/trace_event.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace stepgauge::trace::detail {
namespace {

/// Sums of a base, a begin and a duration of this size fit 64 bits.
constexpr std::uint64_t farthest_ns = std::uint64_t{1} << 61;

/// Whole numbers, as numbers or in quotes; a fraction is cut off.
template <typename Integer>
std::optional<Integer> integer_of(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || (end != text.data() + text.size() && *end != '.')) return std::nullopt;
  return value;
}

/// The next value where it is a string, number or word; nullopt, and passed over, where it is not.
std::optional<std::string_view> next_scalar(JsonPull& in) {
  const int first = in.peek();
  if (first != '{' && first != '[') return in.scalar();
  in.skip();
  return std::nullopt;
}

template <typename Integer, typename Field>
void read_integer(JsonPull& in, Field& field) {
  const auto text = next_scalar(in);
  if (const auto value = text ? integer_of<Integer>(*text) : std::nullopt) field = *value;
}

void read_text(JsonPull& in, std::string& field) {
  if (const auto text = next_scalar(in)) field.assign(*text);
}

std::optional<std::int64_t> read_time(JsonPull& in, std::string_view key) {
  const auto text = next_scalar(in);
  if (!text) in.fail(fmt::format("\"{}\": expected a time in microseconds", key));
  const auto ns = ns_of_us(*text);
  if (!ns) in.fail(fmt::format("\"{}\": expected a time in microseconds, found \"{}\"", key, text->substr(0, 40)));
  return ns;
}

void read_counter_value(JsonPull& in, TraceEvent& event) {
  const auto text = next_scalar(in);
  double value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) return;
  if (std::isfinite(value)) event.value = value;
}

void read_argument(JsonPull& in, TraceEvent& event, std::string_view key) {
  if (key == "correlation") {
    read_integer<std::uint32_t>(in, event.correlation);
  } else if (key == "stream") {
    read_integer<std::int64_t>(in, event.stream);
  } else if (key == "device") {
    read_integer<std::int64_t>(in, event.device);
  } else if (key == "bytes") {
    read_integer<std::int64_t>(in, event.bytes);
  } else if (key == "graph node id") {
    read_integer<std::uint64_t>(in, event.graph_node);
  } else if (key == "sequence" || key == "Seq") {
    read_integer<std::int64_t>(in, event.sequence);
  } else if (key == "bucket") {
    read_integer<std::int64_t>(in, event.bucket);
  } else if (key == "Collective name") {
    read_text(in, event.collective);
  } else if (key == "In msg nelems") {
    read_integer<std::int64_t>(in, event.elements);
  } else if (key == "dtype") {
    read_text(in, event.dtype);
  } else if (key == "Group size") {
    read_integer<std::int64_t>(in, event.group_size);
  } else if (!event.value && (event.phase == "C" || event.phase.empty())) {
    read_counter_value(in, event);
  } else {
    in.skip();
  }
}

void read_field(JsonPull& in, TraceEvent& event, std::string_view key) {
  if (key == "ph") {
    read_text(in, event.phase);
  } else if (key == "cat") {
    read_text(in, event.category);
  } else if (key == "name") {
    read_text(in, event.name);
  } else if (key == "pid") {
    read_integer<std::int64_t>(in, event.pid);
  } else if (key == "tid") {
    read_integer<std::int64_t>(in, event.tid);
  } else if (key == "ts") {
    event.begin = read_time(in, "ts");
  } else if (key == "dur") {
    event.duration = read_time(in, "dur");
  } else if (key == "args" && in.peek() == '{') {
    in.object([&](std::string_view argument) { read_argument(in, event, argument); });
  } else {
    in.skip();
  }
}

/// Digits of a decimal number as an integer and a power of ten.
struct Decimal {
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes digits from the front of `text`; those that no longer fit only move the exponent.
std::size_t take_digits(std::string_view& text, Decimal& out, bool fraction) {
  constexpr auto room = std::numeric_limits<std::uint64_t>::max() / 10 - 1;
  std::size_t count = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), ++count) {
    const bool fits = out.digits <= room;
    if (fits) out.digits = out.digits * 10 + static_cast<std::uint64_t>(text.front() - '0');
    if (fits == fraction) out.exponent += fraction ? -1 : 1;
  }
  return count;
}

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal out;
  auto digits = take_digits(text, out, false);
  if (digits > 0 && !text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    if (take_digits(text, out, true) == 0) return std::nullopt;
  }
  if (digits > 0 && !text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    int exponent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc{} || std::abs(exponent) > 1000) return std::nullopt;
    out.exponent += exponent;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (digits == 0 || !text.empty()) return std::nullopt;
  return out;
}

}  // namespace

void TraceEvent::clear() {
  phase.clear();
  category.clear();
  name.clear();
  collective.clear();
  dtype.clear();
  pid = tid = 0;
  begin = duration = stream = device = sequence = std::nullopt;
  correlation = 0;
  graph_node = 0;
  bytes = elements = group_size = 0;
  bucket = -1;
  value = std::nullopt;
}

void read_event(JsonPull& in, TraceEvent& event) {
  event.clear();
  in.object([&](std::string_view key) { read_field(in, event, key); });
}

std::optional<std::int64_t> ns_of_us(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  auto decimal = decimal_of(text);
  if (!decimal) return std::nullopt;
  auto& [value, exponent] = *decimal;
  exponent += 3;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > farthest_ns / 10) return std::nullopt;
    value *= 10;
  }
  for (; exponent < -1 && value != 0; ++exponent) value /= 10;
  if (exponent == -1) value = value / 10 + (value % 10 >= 5);
  if (value > farthest_ns) return std::nullopt;
  const auto ns = static_cast<std::int64_t>(value);
  return negative ? -ns : ns;
}

}  // namespace stepgauge::trace::detail
