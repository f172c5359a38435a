#include "trace/show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "contract/optional_json.hpp"
#include "trace/detail/host_side.hpp"
#include "trace/detail/idle_gaps.hpp"
#include "trace/detail/traced_work.hpp"
#include "trace/labels.hpp"

namespace stepgauge::trace {
namespace {

double ms_of(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

std::vector<WorkRow> work_rows(const RankTimeline& timeline, const detail::HostSide& host, std::int64_t window) {
  struct Sum {
    std::int64_t count = 0, ns = 0;
    ActivityClass type{};
  };
  std::map<std::tuple<ActivityKind, std::uint32_t, const std::string*>, Sum> sums;
  std::map<std::string, std::string> phases;  // one address for each name
  detail::for_traced(timeline, [&](const Activity& activity, std::int64_t own) {
    const auto& phase = host.phase_of(activity);
    auto& sum = sums[{activity.kind, activity.name, &phases.try_emplace(phase, phase).first->second}];
    ++sum.count;
    sum.ns += own;
    sum.type = activity.type;
  });
  const auto steps = static_cast<double>(timeline.steps.size());
  std::vector<WorkRow> out;
  for (const auto& [key, sum] : sums) {
    const auto& [kind, name, phase] = key;
    const double share = window > 0 ? static_cast<double>(sum.ns) / static_cast<double>(window) : 0;
    out.push_back({timeline.names[name], kind, sum.type, *phase, static_cast<double>(sum.count) / steps,
                   ms_of(sum.ns) / steps, share});
  }
  std::sort(out.begin(), out.end(), [](const WorkRow& a, const WorkRow& b) {
    return std::tie(b.ms_per_step, a.name, a.phase) < std::tie(a.ms_per_step, b.name, b.phase);
  });
  return out;
}

/// The step in which a moment lies, or the last one before it.
const Span* step_at(const RankTimeline& timeline, std::int64_t at) {
  const auto after = std::upper_bound(timeline.steps.begin(), timeline.steps.end(), at,
                                      [](std::int64_t time, const Span& step) { return time < step.time.begin; });
  return after == timeline.steps.begin() ? nullptr : &*(after - 1);
}

struct IdleSum {
  std::int64_t count = 0, ns = 0;
  Interval longest;
};

IdleRow idle_row(const RankTimeline& timeline, const IdleSum& sum) {
  const auto steps = static_cast<double>(timeline.steps.size());
  IdleRow row;
  row.per_step = static_cast<double>(sum.count) / steps;
  row.ms_per_step = ms_of(sum.ns) / steps;
  row.longest_ms = ms_of(sum.longest.end - sum.longest.begin);
  if (const auto* step = step_at(timeline, sum.longest.begin)) {
    row.longest_step = step->name;
    row.longest_after_ms = ms_of(sum.longest.begin - step->time.begin);
  }
  return row;
}

std::vector<IdleRow> idle_rows(const RankTimeline& timeline, const detail::HostSide& host) {
  constexpr std::int64_t end_of_trace = -1;
  std::map<std::tuple<std::int64_t, ActivityKind, std::string>, IdleSum> sums;
  for (const auto& [time, next] : detail::idle_gaps(timeline)) {
    const auto length = time.end - time.begin;
    auto& sum = sums[{next != nullptr ? std::int64_t{next->name} : end_of_trace,
                      next != nullptr ? next->kind : ActivityKind::kernel, host.doing_at(time.begin + length / 2)}];
    ++sum.count;
    sum.ns += length;
    if (length > sum.longest.end - sum.longest.begin) sum.longest = time;
  }
  std::vector<IdleRow> out;
  for (const auto& [key, sum] : sums) {
    auto row = idle_row(timeline, sum);
    const auto& [name, kind, doing] = key;
    if (name != end_of_trace) row.next = timeline.names.at(static_cast<std::size_t>(name));
    row.next_kind = kind;
    row.host = doing;
    out.push_back(std::move(row));
  }
  std::sort(out.begin(), out.end(), [](const IdleRow& a, const IdleRow& b) {
    return std::tie(b.ms_per_step, a.next, a.host) < std::tie(a.ms_per_step, b.next, b.host);
  });
  return out;
}

RankView rank_view(const LaunchTraces& traces, std::size_t i, std::size_t top) {
  const auto& timeline = traces.ranks[i];
  RankView out;
  out.rank = timeline.rank;
  out.world_size = timeline.world_size;
  out.device_name = timeline.device_name;
  out.origin = timeline.origin;
  out.host_time = timeline.host_time;
  out.foreign = timeline.foreign;
  out.steps = timeline.steps.size();
  out.activities = timeline.activities.size();
  out.excluded = traces.excluded[i];
  out.dropped = timeline.dropped;
  out.ignored = timeline.ignored;
  out.doubtful = traces.doubtful[i];
  if (!out.doubtful.empty()) return out;
  out.total = traces.breakdowns[i].total;
  const detail::HostSide host(timeline);
  out.work = work_rows(timeline, host, out.total.window);
  out.other_work = out.work.size() - std::min(top, out.work.size());
  out.work.resize(std::min(top, out.work.size()));
  out.idle = idle_rows(timeline, host);
  out.idle.resize(std::min(top, out.idle.size()));
  return out;
}

std::optional<SlowestCollective> slowest_of_all(const LaunchTraces& traces) {
  const auto all = skews(traces.ranks);
  const auto slowest =
      std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.longest < b.longest; });
  if (slowest == all.end()) return std::nullopt;
  return SlowestCollective{*slowest, true, slowest->last_rank};
}

std::optional<SlowestCollective> slowest_of(const RankTimeline& timeline) {
  std::optional<SlowestCollective> out;
  for (const auto& collective : timeline.collectives) {
    const auto length = collective.device.end - collective.device.begin;
    if (length <= 0 || (out && out->collective.longest >= length)) continue;
    out.emplace();
    out->rank = timeline.rank;
    out->collective = {
        collective.sequence, collective.kind, collective.bytes, collective.bucket, 0, timeline.rank, length, length};
  }
  return out;
}

std::optional<SlowestCollective> slowest_collective(const LaunchTraces& traces, const std::optional<int>& rank) {
  if (!rank && traces.alignment && traces.reliable()) return slowest_of_all(traces);
  std::optional<SlowestCollective> out;
  for (std::size_t i = 0; i < traces.ranks.size(); ++i) {
    const auto& timeline = traces.ranks[i];
    if ((rank && timeline.rank != *rank) || !traces.doubtful[i].empty()) continue;
    const auto one = slowest_of(timeline);
    if (one && (!out || one->collective.longest > out->collective.longest)) out = one;
  }
  return out;
}

std::vector<std::string> notes_on(const LaunchTraces& traces, const std::vector<RankView>& ranks) {
  std::vector<std::string> out;
  const auto world = static_cast<std::size_t>(traces.ranks.front().world_size);
  if (traces.ranks.size() < world) {
    out.push_back(fmt::format("traces of {} of {} ranks are here", traces.ranks.size(), world));
  }
  if (traces.ranks.size() > 1 && !traces.alignment) {
    out.emplace_back("the ranks' clocks could not be aligned: fewer than 3 collectives were seen on every rank");
  }
  for (const auto& rank : ranks) {
    if (rank.world_size > 1 && rank.doubtful.empty() && rank.total.communication == 0) {
      out.push_back(fmt::format(
          "rank {}: no communication in a world of {}: the names of its kernels are probably not known to stepgauge",
          rank.rank, rank.world_size));
    }
    if (rank.excluded > 0) {
      out.push_back(
          fmt::format("rank {}: {} impossible records are left out (of no length, or running on while their "
                      "stream's next one runs)",
                      rank.rank, rank.excluded));
    }
  }
  return out;
}

Json json_of(const RankView& rank) {
  Json out{{"rank", rank.rank},
           {"world_size", rank.world_size},
           {"device", rank.device_name},
           {"timeline", rank.host_time ? "host" : "device"},
           {"foreign", rank.foreign},
           {"file", rank.origin},
           {"steps", rank.steps},
           {"activities", rank.activities},
           {"excluded", rank.excluded},
           {"dropped", rank.dropped},
           {"ignored", rank.ignored},
           {"reliable", rank.doubtful.empty()},
           {"reasons", rank.doubtful},
           {"breakdown", nullptr},
           {"work", nullptr},
           {"idle", nullptr}};
  if (!rank.doubtful.empty()) return out;
  out["breakdown"] = to_json(rank.total, rank.steps);
  auto& work = out["work"] = Json::array();
  for (const auto& row : rank.work) {
    work.push_back({{"name", row.name},
                    {"kind", to_string(row.kind)},
                    {"class", to_string(row.type)},
                    {"phase", row.phase.empty() ? Json(nullptr) : Json(row.phase)},
                    {"per_step", row.per_step},
                    {"ms_per_step", row.ms_per_step},
                    {"share", row.share}});
  }
  auto& idle = out["idle"] = Json::array();
  for (const auto& row : rank.idle) {
    idle.push_back({{"next", row.next.empty() ? Json(nullptr) : Json(row.next)},
                    {"host", row.host},
                    {"per_step", row.per_step},
                    {"ms_per_step", row.ms_per_step},
                    {"longest_ms", row.longest_ms},
                    {"longest_step", row.longest_step},
                    {"longest_after_ms", row.longest_after_ms}});
  }
  return out;
}

Json json_of(const SlowestCollective& slowest) {
  const auto& collective = slowest.collective;
  Json out{{"sequence", collective.sequence},
           {"kind", collective.kind},
           {"bytes", collective.bytes},
           {"bucket", collective.bucket},
           {"longest_ms", ms_of(collective.longest)}};
  out["rank"] = slowest.compared ? Json(nullptr) : Json(slowest.rank);
  out["shortest_ms"] = slowest.compared ? Json(ms_of(collective.shortest)) : Json(nullptr);
  out["entry_skew_ms"] = slowest.compared ? Json(ms_of(collective.entry_skew)) : Json(nullptr);
  out["last_rank"] = slowest.compared ? Json(collective.last_rank) : Json(nullptr);
  return out;
}

}  // namespace

bool TraceView::reliable() const {
  return std::all_of(ranks.begin(), ranks.end(), [](const RankView& rank) { return rank.doubtful.empty(); });
}

TraceView view(const LaunchTraces& traces, const ViewOptions& options) {
  TraceView out;
  out.source = traces.source;
  std::vector<int> known;
  for (std::size_t i = 0; i < traces.ranks.size(); ++i) {
    known.push_back(traces.ranks[i].rank);
    if (!options.rank || *options.rank == known.back()) out.ranks.push_back(rank_view(traces, i, options.top));
  }
  if (out.ranks.empty()) {
    throw std::invalid_argument(fmt::format("{}: no trace of rank {}; there are those of {}", traces.source,
                                            options.rank.value_or(0), fmt::join(known, ", ")));
  }
  out.alignment = traces.alignment;
  out.slowest = slowest_collective(traces, options.rank);
  out.notes = notes_on(traces, out.ranks);
  return out;
}

Json to_json(const Breakdown& breakdown, std::size_t steps) {
  const auto per_step = [&](std::int64_t value) { return static_cast<double>(value) / static_cast<double>(steps); };
  const auto ms = [&](std::int64_t ns) { return per_step(ns) / 1e6; };
  const bool empty = breakdown.window <= 0;
  const auto ratio = [&](double value) { return empty ? Json(nullptr) : Json(value); };
  return {{"step_ms", ms(breakdown.window)},
          {"compute_ms", ms(breakdown.compute)},
          {"communication_ms", ms(breakdown.communication)},
          {"copy_ms", ms(breakdown.copy)},
          {"exposed_communication_ms", ms(breakdown.exposed_comm)},
          {"exposed_copy_ms", ms(breakdown.exposed_copy)},
          {"idle_ms", ms(breakdown.idle)},
          {"overlap_ms", ms(breakdown.overlap)},
          {"stall_ratio", ratio(breakdown.stall_ratio())},
          {"idle_ratio", ratio(breakdown.idle_ratio())},
          {"exposed_communication_ratio", ratio(breakdown.exposed_comm_ratio())},
          {"exposed_copy_ratio", ratio(breakdown.exposed_copy_ratio())},
          {"overlap_ratio", stepgauge::json_of(breakdown.overlap_ratio())},
          {"stall_ratio_article", ratio(breakdown.stall_article())},
          {"kernels", per_step(breakdown.kernels)},
          {"copies", per_step(breakdown.copies)},
          {"launches", per_step(breakdown.launches)},
          {"graph_launches", per_step(breakdown.graph_launches)},
          {"collectives", per_step(breakdown.collectives)},
          {"collective_bytes", per_step(breakdown.collective_bytes)}};
}

Json to_json(const TraceView& view) {
  Json ranks = Json::array();
  for (const auto& rank : view.ranks) ranks.push_back(json_of(rank));
  Json alignment = nullptr;
  if (view.alignment) {
    alignment = {{"shift_ns", view.alignment->shift},
                 {"error_ns", view.alignment->error},
                 {"collectives", view.alignment->collectives}};
  }
  return {{"source", view.source},
          {"reliable", view.reliable()},
          {"ranks", ranks},
          {"alignment", alignment},
          {"slowest_collective", view.slowest ? json_of(*view.slowest) : Json(nullptr)},
          {"notes", view.notes}};
}

}  // namespace stepgauge::trace
