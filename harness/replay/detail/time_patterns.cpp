#include "replay/detail/time_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "contract/plural.hpp"
#include "replay/wording.hpp"

namespace stepgauge::replay::detail {
namespace {

void enter(CollectiveTiming& timing, int rank, std::int64_t at) {
  if (timing.compared++ == 0) {
    timing.first_entry = timing.last_entry = at;
    timing.first_rank = timing.last_rank = rank;
    timing.before_last = std::numeric_limits<std::int64_t>::min();
    return;
  }
  if (at < timing.first_entry) {
    timing.first_entry = at;
    timing.first_rank = rank;
  }
  if (at > timing.last_entry) {
    timing.before_last = timing.last_entry;
    timing.last_entry = at;
    timing.last_rank = rank;
  } else {
    timing.before_last = std::max(timing.before_last, at);
  }
}

void take_duration(CollectiveTiming& timing, int rank, const Record& record) {
  const auto duration = record.timed() ? record.end - record.enter : -1;
  if (duration < 0) return;
  if (timing.longest == not_known || duration > timing.longest) {
    timing.longest = duration;
    timing.longest_rank = rank;
  }
  if (timing.shortest == not_known || duration < timing.shortest) timing.shortest = duration;
}

std::int64_t ns_of(double ms) {
  return std::llround(std::min(ms, 1e12) * 1e6);
}

/// What a rank did wrong over the run.
struct Lateness {
  std::int64_t late = 0, barriers = 0;  ///< collectives in which it was too late by far
  const CollectiveTiming* worst = nullptr;
  std::int64_t last = 0;  ///< collectives in which it came last
  double lead = 0;        ///< ns behind the last but one, summed up
  const CollectiveTiming* first_last = nullptr;
};

}  // namespace

std::vector<CollectiveTiming> timings_of(std::uint32_t group, const CollectiveLog& log, const Columns& columns,
                                         const std::map<int, Clock>& clocks) {
  std::vector<CollectiveTiming> out;
  for (const auto& column : columns.columns) {
    out.emplace_back();
    out.back().group = group;
    out.back().sequence = column.sequence;
    out.back().op = column.op;
  }
  const auto& streams = log.groups[group].streams;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto& stream = streams[i];
    const auto clock = clocks.find(stream.rank);
    each_record(stream, columns.columns, columns.deviations[i].usable, [&](std::size_t index, std::size_t at) {
      const auto& record = stream.records[index];
      auto& timing = out[at];
      if (record.op != timing.op && !fits(log.ops[record.op], log.ops[timing.op])) return;
      take_duration(timing, stream.rank, record);
      if (clock == clocks.end() || record.enter == not_known) return;
      const auto entry = record.enter + clock->second.shift;
      if (is_time(entry)) enter(timing, stream.rank, entry);
    });
  }
  return out;
}

void find_time_patterns(const Group& group, const CollectiveLog& log, const std::vector<CollectiveTiming>& timings,
                        const std::map<int, Clock>& clocks, const PatternSettings& settings, Findings& out) {
  const auto error = [&](int rank) {
    const auto at = clocks.find(rank);
    return at == clocks.end() ? 0 : at->second.error;
  };
  std::map<int, Lateness> found;
  std::int64_t compared = 0;
  for (std::size_t i = 1; i < timings.size(); ++i) {  // before the first one the ranks started, each in its time
    const auto& timing = timings[i];
    const auto& op = log.ops[timing.op];
    if (timing.compared < 2 || is_setup(op.call_site)) continue;
    ++compared;
    auto& rank = found[timing.last_rank];
    if (rank.last++ == 0) rank.first_last = &timing;
    rank.lead += static_cast<double>(timing.lead());
    if (timing.skew() <= ns_of(settings.skew_ms) + error(timing.first_rank) + error(timing.last_rank)) continue;
    ++rank.late;
    rank.barriers += op.kind == Kind::barrier ? 1 : 0;
    if (rank.worst == nullptr || timing.skew() > rank.worst->skew()) rank.worst = &timing;
  }
  std::vector<Pattern> skews;
  for (const auto& [rank, one] : found) {
    if (one.late > 0) {
      const auto& worst = *one.worst;
      const auto barriers =
          one.barriers == 0 || one.barriers == one.late ? "" : fmt::format(" ({})", plural(one.barriers, "barrier"));
      const auto what = one.barriers == one.late ? plural(one.late, "barrier") : plural(one.late, "collective");
      skews.push_back(
          {PatternKind::skew,
           {rank},
           group.name,
           worst.sequence,
           worst.op,
           one.late,
           static_cast<double>(worst.skew()) / 1e6,
           fmt::format(
               "rank {} comes more than {} ms behind the first into {}{}{}; worst {}: {} ms behind rank {} (clocks "
               "may be off by {} ms)",
               rank, ms_text(ns_of(settings.skew_ms)), what, barriers, group_text(group, log),
               collective_text(worst.sequence, log.ops[worst.op]), ms_text(worst.skew()), worst.first_rank,
               ms_text(error(rank) + error(worst.first_rank)))});
    }
    const auto lead = one.lead / static_cast<double>(std::max<std::int64_t>(one.last, 1));
    const auto share = static_cast<double>(one.last) / static_cast<double>(std::max<std::int64_t>(compared, 1));
    const bool slow = compared >= settings.slow_least && share >= settings.slow_share &&
                      lead >= static_cast<double>(ns_of(settings.slow_lead_ms) + error(rank));
    if (!slow) continue;
    out.patterns.push_back({PatternKind::slow,
                            {rank},
                            group.name,
                            one.first_last->sequence,
                            one.first_last->op,
                            one.last,
                            lead / 1e6,
                            fmt::format("rank {} is slow: it comes last into {} of {} collectives{}, from {} on, {} ms "
                                        "behind the last but one on average",
                                        rank, one.last, compared, group_text(group, log),
                                        collective_text(one.first_last->sequence, log.ops[one.first_last->op]),
                                        ms_text(std::llround(lead)))});
  }
  std::stable_sort(skews.begin(), skews.end(), [](const Pattern& a, const Pattern& b) { return a.value > b.value; });
  out.patterns.insert(out.patterns.end(), skews.begin(), skews.end());
}

}  // namespace stepgauge::replay::detail
