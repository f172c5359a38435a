#include "replay/patterns.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "replay/detail/growth.hpp"
#include "replay/detail/stream_patterns.hpp"
#include "replay/detail/time_patterns.hpp"

namespace stepgauge::replay {

std::string_view to_string(PatternKind kind) {
  constexpr std::array<std::string_view, 8> names{"silent",   "stuck", "skipped", "extra",
                                                  "mismatch", "skew",  "growth",  "slow"};
  return names[static_cast<std::size_t>(kind)];
}

bool explains_an_end(PatternKind kind) {
  using enum PatternKind;
  return kind == silent || kind == stuck || kind == skipped || kind == extra || kind == mismatch;
}

Findings find_patterns(const CollectiveLog& log, const std::map<int, Clock>& clocks, const PatternSettings& settings) {
  Findings out;
  for (std::uint32_t index = 0; index < log.groups.size(); ++index) {
    const auto& group = log.groups[index];
    const auto columns = detail::compare_streams(group, log);
    detail::find_stream_patterns(group, log, columns, out);
    detail::find_growth(group, log, columns, settings, out);
    auto timings = detail::timings_of(index, log, columns, clocks);
    detail::find_time_patterns(group, log, timings, clocks, settings, out);
    out.timings.insert(out.timings.end(), timings.begin(), timings.end());
  }
  const auto place = [](const Pattern& pattern) {
    const bool ends = explains_an_end(pattern.kind);
    return std::tuple(!ends, ends ? pattern.sequence : 0, pattern.kind);
  };
  std::stable_sort(out.patterns.begin(), out.patterns.end(),
                   [&](const Pattern& a, const Pattern& b) { return place(a) < place(b); });
  return out;
}

}  // namespace stepgauge::replay
