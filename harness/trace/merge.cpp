#include "trace/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "contract/trace_file.hpp"
#include "trace/detail/call_index.hpp"
#include "trace/detail/file_head.hpp"

namespace stepgauge::trace {
namespace {

// Processes of a rank, behind its offset, and the rows that are no thread and no stream.
constexpr std::int64_t device_pid = 0, host_pid = 1;
constexpr std::int64_t marks_row = 900'001, collectives_row = 900'002;

std::int64_t pid_offset(const RankTimeline& timeline) {
  return timeline.rank * detail::pids_per_rank;
}

std::int64_t first_time(const std::vector<RankTimeline>& ranks) {
  auto first = std::numeric_limits<std::int64_t>::max();
  const auto look = [&](std::int64_t at) { first = std::min(first, at); };
  for (const auto& timeline : ranks) {
    if (!timeline.activities.empty()) look(timeline.activities.front().time.begin);
    if (!timeline.calls.empty()) look(timeline.calls.front().time.begin);
    for (const auto* spans : {&timeline.steps, &timeline.phases, &timeline.device_phases}) {
      if (!spans->empty()) look(spans->front().time.begin);
    }
  }
  return first == std::numeric_limits<std::int64_t>::max() ? 0 : first;
}

Json rank_entry(const RankTimeline& timeline, std::int64_t clock_error) {
  return {{"rank", timeline.rank},
          {"pid_offset", pid_offset(timeline)},
          {"clock_shift_ns", timeline.clock_shift},
          {"clock_error_ns", clock_error},
          {"timeline", timeline.host_time ? "host" : "device"},
          {"device_name", timeline.device_name},
          {"foreign", timeline.foreign},
          {"dropped", timeline.dropped},
          {"event_step_ms", timeline.event_step_ms}};
}

Json head_of(const std::vector<RankTimeline>& ranks, const std::optional<Alignment>& alignment) {
  Json entries = Json::array(), devices = Json::array();
  int world_size = 1;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto& timeline = ranks[i];
    entries.push_back(rank_entry(timeline, alignment ? alignment->error.at(i) : 0));
    if (!timeline.host_time) {
      devices.push_back({{"id", pid_offset(timeline) + device_pid}, {"name", timeline.device_name}});
    }
    world_size = std::max({world_size, timeline.world_size, static_cast<int>(ranks.size())});
  }
  const auto& first = entries.front();
  return {
      {"schemaVersion", 1},
      {"displayTimeUnit", "ns"},
      {"deviceProperties", devices},
      {"distributedInfo",
       {{"backend", ranks.front().host_time ? "gloo" : "nccl"}, {"rank", first["rank"]}, {"world_size", world_size}}},
      {"stepgauge",
       {{"trace_version", trace_version},
        {"timeline", first["timeline"]},
        {"rank", first["rank"]},
        {"world_size", world_size},
        {"dropped", first["dropped"]},
        {"event_step_ms", first["event_step_ms"]},
        {"ranks", entries}}}};
}

/// Writes one rank's events.
class RankWriter {
 public:
  RankWriter(TraceFileWriter& file, const RankTimeline& timeline)
      : file_(file),
        timeline_(timeline),
        device_(pid_offset(timeline) + device_pid),
        host_(pid_offset(timeline) + host_pid) {}

  void write() {
    name_processes();
    marks();
    calls();
    activities();
    collectives();
    for (const auto& sample : timeline_.counters) {
      file_.counter(sample.name, timeline_.host_time ? host_ : device_, sample.at, sample.value);
    }
  }

 private:
  void name_processes();
  void marks();
  void calls();
  void activities();
  void activity(const Activity& activity);
  void arrow(const HostCall& call, const Activity& activity);
  void collectives();

  template <typename... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(args_), text, std::forward<Args>(args)...);
  }

  TraceFileWriter& file_;
  const RankTimeline& timeline_;
  std::int64_t device_, host_;
  std::string args_;
};

void RankWriter::name_processes() {
  const auto label = fmt::format("rank {}", timeline_.rank);
  const int order = 2 * timeline_.rank;
  file_.name_process(host_, label + " host", label, order);
  file_.name_thread(host_, marks_row, "steps and phases", -2);
  file_.name_thread(host_, collectives_row, "collectives", -1);
  if (timeline_.host_time) return;
  file_.name_process(device_, fmt::format("{} {}", label, timeline_.device_name), label, order + 1);
  file_.name_thread(device_, marks_row, "steps and phases", -1);
}

void RankWriter::marks() {
  const auto mark = [&](const std::vector<Span>& spans, const char* category, std::int64_t pid) {
    for (const auto& span : spans) {
      file_.complete(category, span.name, pid, marks_row, span.time.begin, span.time.end);
    }
  };
  const bool host = timeline_.host_time;
  mark(timeline_.steps, host ? "user_annotation" : "gpu_user_annotation", host ? host_ : device_);
  mark(timeline_.phases, "user_annotation", host_);
  mark(timeline_.device_phases, "gpu_user_annotation", device_);
}

void RankWriter::calls() {
  static constexpr std::array categories{"cuda_runtime", "cuda_driver", "cpu_op"};
  for (const auto& call : timeline_.calls) {
    args_.clear();
    if (call.correlation != 0) add("{{\"correlation\":{}}}", call.correlation);
    file_.complete(categories.at(static_cast<std::size_t>(call.kind)), timeline_.names[call.name], host_, call.thread,
                   call.time.begin, call.time.end, args_);
  }
}

void RankWriter::activity(const Activity& activity) {
  const auto& name = timeline_.names[activity.name];
  const auto write = [&](const char* category, std::int64_t pid) {
    file_.complete(category, name, pid, activity.stream, activity.time.begin, activity.time.end, args_);
  };
  args_.clear();
  if (activity.kind == ActivityKind::host_op) return write("cpu_op", host_);
  add("{{\"device\":{},\"stream\":{},\"correlation\":{}", timeline_.rank, activity.stream, activity.correlation);
  if (activity.graph_node != 0) add(",\"graph node id\":{}", activity.graph_node);
  if (activity.kind != ActivityKind::kernel) add(",\"bytes\":{}", activity.bytes);
  args_ += '}';
  write(activity.kind == ActivityKind::memcpy   ? "gpu_memcpy"
        : activity.kind == ActivityKind::memset ? "gpu_memset"
                                                : "kernel",
        device_);
}

void RankWriter::arrow(const HostCall& call, const Activity& activity) {
  const auto id = (static_cast<std::uint64_t>(timeline_.rank) << 32) | activity.correlation;
  file_.flow(id, host_, call.thread, call.time.begin, device_, activity.stream, activity.time.begin);
}

void RankWriter::activities() {
  const detail::CallIndex index(timeline_.calls);
  for (const auto& one : timeline_.activities) {
    if (one.kind == ActivityKind::collective) continue;  // written as the process group's call
    activity(one);
    // One graph launch begins hundreds of nodes: arrows with one number for all of them say nothing.
    const auto* call = one.graph_node == 0 ? index.find(one.correlation) : nullptr;
    if (call != nullptr) arrow(*call, one);
  }
}

void RankWriter::collectives() {
  for (const auto& collective : timeline_.collectives) {
    args_.clear();
    add("{{\"sequence\":{},\"bytes\":{},\"bucket\":{},\"rank\":{}}}", collective.sequence, collective.bytes,
        collective.bucket, timeline_.rank);
    const auto time =
        collective.host.empty() ? Interval{collective.device.begin, collective.device.begin} : collective.host;
    file_.complete("user_annotation", fmt::format("{}:{}", timeline_.host_time ? "gloo" : "nccl", collective.kind),
                   host_, collectives_row, time.begin, time.end, args_);
  }
}

}  // namespace

void write_merged(const std::string& path, const std::vector<RankTimeline>& ranks,
                  const std::optional<Alignment>& alignment) {
  if (ranks.empty()) throw std::invalid_argument(path + ": there are no ranks to merge");
  TraceFileWriter file(path, first_time(ranks), head_of(ranks, alignment));
  for (const auto& timeline : ranks) RankWriter(file, timeline).write();
  file.close();
}

}  // namespace stepgauge::trace
