#include "trace/align.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace stepgauge::trace {
namespace {

constexpr std::size_t fewest_collectives = 3;

/// The same collective on every rank, by position of the rank.
using Match = std::vector<const Collective*>;

/// Collectives of a rank by sequence number. A number that stands twice (several process groups that each count for
/// themselves) says nothing, it is held as nullptr.
std::map<std::int64_t, const Collective*> by_sequence(const RankTimeline& timeline) {
  std::map<std::int64_t, const Collective*> out;
  for (const auto& collective : timeline.collectives) {
    const auto [at, is_new] = out.emplace(collective.sequence, &collective);
    if (!is_new) at->second = nullptr;
  }
  return out;
}

/// In order of sequence numbers. Equal numbers of different kinds are not the same collective.
std::vector<Match> match(const std::vector<RankTimeline>& ranks) {
  std::map<std::int64_t, Match> found;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& [sequence, collective] : by_sequence(ranks[rank])) {
      if (collective == nullptr) continue;
      auto& entry = found[sequence];
      if (entry.size() == rank && (rank == 0 || entry.front()->kind == collective->kind)) entry.push_back(collective);
    }
  }
  std::vector<Match> out;
  for (auto& [sequence, entry] : found)
    if (entry.size() == ranks.size()) out.push_back(std::move(entry));
  return out;
}

bool seen_on_device(const Match& entry) {
  return std::all_of(entry.begin(), entry.end(), [](const Collective* c) { return !c->device.empty(); });
}

/// `values` are not empty. The mean of the middle two when their number is even.
std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const auto below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

void shift_by(Interval& time, std::int64_t by) {
  time.begin += by;
  time.end += by;
}

void shift_by(RankTimeline& timeline, std::int64_t by) {
  for (auto& activity : timeline.activities) shift_by(activity.time, by);
  for (auto& call : timeline.calls) shift_by(call.time, by);
  for (auto* spans : {&timeline.steps, &timeline.phases, &timeline.device_phases})
    for (auto& span : *spans) shift_by(span.time, by);
  for (auto& collective : timeline.collectives) {
    shift_by(collective.host, by);
    if (!collective.device.empty()) shift_by(collective.device, by);  // empty means "not seen", not a time
  }
  for (auto& sample : timeline.counters) sample.at += by;
  timeline.clock_shift += by;
}

CollectiveSkew skew(const Match& entry, const std::vector<RankTimeline>& ranks) {
  const bool device = seen_on_device(entry);
  const auto time = [&](std::size_t rank) { return device ? entry[rank]->device : entry[rank]->host; };
  const auto duration = [&](std::size_t rank) { return time(rank).end - time(rank).begin; };
  std::size_t first = 0, last = 0;
  auto longest = duration(0);
  for (std::size_t rank = 1; rank < entry.size(); ++rank) {
    if (time(rank).begin < time(first).begin) first = rank;
    if (time(rank).begin > time(last).begin) last = rank;
    longest = std::max(longest, duration(rank));
  }
  const auto& collective = *entry.front();
  return {
      collective.sequence, collective.kind, collective.bytes, collective.bucket, time(last).begin - time(first).begin,
      ranks[last].rank,    longest,         duration(last)};
}

}  // namespace

std::optional<ClockShift> clock_shift(std::vector<std::int64_t> behind) {
  if (behind.size() < fewest_collectives) return std::nullopt;
  const auto shift = median(behind);
  for (auto& value : behind) value = std::abs(value - shift);
  return ClockShift{shift, median(std::move(behind))};
}

std::optional<Alignment> align(const std::vector<RankTimeline>& ranks) {
  auto matches = match(ranks);
  // The host's call of a device collective ends when it is enqueued, not when the collective ends.
  std::erase_if(matches, [](const Match& entry) { return !seen_on_device(entry); });
  if (ranks.empty() || matches.size() < fewest_collectives) return std::nullopt;
  Alignment out;
  out.collectives = matches.size();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<std::int64_t> behind;
    behind.reserve(matches.size());
    for (const auto& entry : matches) behind.push_back(entry.front()->device.end - entry[rank]->device.end);
    const auto clock = clock_shift(std::move(behind));
    out.shift.push_back(clock->shift);
    out.error.push_back(clock->error);
  }
  return out;
}

void apply(const Alignment& alignment, std::vector<RankTimeline>& ranks) {
  if (alignment.shift.size() != ranks.size()) throw std::logic_error("the alignment is of another number of ranks");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) shift_by(ranks[rank], alignment.shift[rank]);
}

std::vector<CollectiveSkew> skews(const std::vector<RankTimeline>& ranks) {
  std::vector<CollectiveSkew> out;
  if (ranks.empty()) return out;
  for (const auto& entry : match(ranks)) out.push_back(skew(entry, ranks));
  return out;
}

}  // namespace stepgauge::trace
