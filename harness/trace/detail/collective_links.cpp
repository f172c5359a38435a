#include "trace/detail/collective_links.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trace/detail/call_index.hpp"

namespace stepgauge::trace::detail {
namespace {

constexpr std::size_t most_overlapping = 64;  ///< calls of process groups that are open at one time

bool seen(const Interval& time) {
  return time.end > time.begin;
}

/// The last call that began before `time` and was still open.
CollectiveCall* open_at(std::vector<CollectiveCall>& calls, std::int64_t time) {
  auto after = std::upper_bound(calls.begin(), calls.end(), time,
                                [](std::int64_t t, const CollectiveCall& call) { return t < call.host.begin; });
  for (std::size_t i = 0; after != calls.begin() && i < most_overlapping; ++i) {
    --after;
    if (time < after->host.end) return &*after;
  }
  return nullptr;
}

/// Several kernels of one call (coalesced, in parts) are one collective.
void join(CollectiveCall& call, const Interval& kernel) {
  if (!seen(call.device)) {
    call.device = kernel;
    return;
  }
  call.device.begin = std::min(call.device.begin, kernel.begin);
  call.device.end = std::max(call.device.end, kernel.end);
}

/// All or nothing: one wrong pair would move every clock that is set by them.
void join_by_order(std::vector<CollectiveCall>& calls, const std::vector<Interval>& kernels) {
  std::vector<CollectiveCall*> left;
  for (auto& call : calls) {
    if (!seen(call.device)) left.push_back(&call);
  }
  if (left.size() != kernels.size()) return;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (kernels[i].begin < left[i]->host.begin) return;
  }
  for (std::size_t i = 0; i < left.size(); ++i) left[i]->device = kernels[i];
}

void join_kernels(std::vector<CollectiveCall>& calls, const RankTimeline& timeline) {
  const CallIndex index(timeline.calls);
  std::vector<Interval> left;
  for (const auto& activity : timeline.activities) {
    if (activity.kind != ActivityKind::kernel || activity.type != ActivityClass::communication) continue;
    const auto* launch = index.find(activity.correlation);
    auto* call = launch != nullptr ? open_at(calls, launch->time.begin) : nullptr;
    if (call != nullptr) {
      join(*call, activity.time);
    } else {
      left.push_back(activity.time);
    }
  }
  join_by_order(calls, left);
}

/// The host's side of collectives that only their kernels told of.
void find_launches(std::vector<CollectiveCall>& calls, const RankTimeline& timeline) {
  const CallIndex index(timeline.calls);
  for (auto& call : calls) {
    const auto* launch = index.find(call.correlation);
    if (!seen(call.host) && launch != nullptr) call.host = launch->time;
  }
}

void number(std::vector<CollectiveCall>& calls) {
  const bool known =
      std::all_of(calls.begin(), calls.end(), [](const auto& call) { return call.sequence.has_value(); });
  for (std::size_t i = 0; i < calls.size() && !known; ++i) calls[i].sequence = static_cast<std::int64_t>(i);
}

}  // namespace

std::string collective_kind(std::string_view name) {
  if (const auto colon = name.find(':'); colon != name.npos) name.remove_prefix(colon + 1);
  while (name.starts_with('_')) name.remove_prefix(1);
  if (name.ends_with("_base")) name.remove_suffix(5);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> spellings{
      {{"allreduce", "all_reduce"},
       {"allgather", "all_gather"},
       {"reducescatter", "reduce_scatter"},
       {"alltoall", "all_to_all"}}};
  for (const auto& [from, to] : spellings) {
    if (name.starts_with(from)) return std::string(to) + std::string(name.substr(from.size()));
  }
  return std::string(name);
}

void link_collectives(std::vector<CollectiveCall> calls, RankTimeline& timeline) {
  const bool by_kernels = std::any_of(calls.begin(), calls.end(), [](const auto& call) { return seen(call.device); });
  if (by_kernels) find_launches(calls, timeline);
  const auto begin = [](const CollectiveCall& call) { return seen(call.host) ? call.host.begin : call.device.begin; };
  std::stable_sort(calls.begin(), calls.end(), [&](const auto& a, const auto& b) { return begin(a) < begin(b); });
  if (timeline.host_time) {
    for (auto& call : calls) call.device = call.host;
  } else if (!by_kernels) {
    join_kernels(calls, timeline);
  }
  number(calls);
  for (auto& call : calls) {
    timeline.collectives.push_back(
        {*call.sequence, std::move(call.kind), call.bytes, call.bucket, call.host, call.device});
  }
}

}  // namespace stepgauge::trace::detail
