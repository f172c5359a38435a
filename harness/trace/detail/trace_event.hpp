#pragma once
// One entry of "traceEvents".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/detail/json_pull.hpp"

namespace stepgauge::trace::detail {

/// What is read of an event; the rest is passed over. Its strings are used again for the next one.
struct TraceEvent {
  std::string phase, category, name;  ///< phase: "ph" of the format, "X" complete, "C" counter, ...
  std::int64_t pid = 0, tid = 0;
  std::optional<std::int64_t> begin, duration;  ///< ns after the file's base

  // args
  std::optional<std::int64_t> stream, device, sequence;
  std::uint32_t correlation = 0;
  std::uint64_t graph_node = 0;
  std::int64_t bytes = 0, bucket = -1, elements = 0, group_size = 0;
  std::string collective, dtype;  ///< empty: none
  std::optional<double> value;    ///< first number of a counter's args

  void clear();
};

/// Reads the next value as an event into `event`. Throws TraceError.
void read_event(JsonPull& in, TraceEvent& event);

/// Microseconds in decimal notation as ns, exact where there are three decimals or fewer, else rounded; nullopt for
/// anything but a number and for times of more than 73 years.
std::optional<std::int64_t> ns_of_us(std::string_view text);

}  // namespace stepgauge::trace::detail
