#include "worker/trace/write_trace.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "contract/trace_file.hpp"

namespace stepgauge::worker {
namespace {

std::optional<std::uint32_t> mark_of(const DeviceActivity& activity) {
  constexpr std::uint64_t first = 4ull * mark_code::words, last = first + 4ull * mark_code::codes;
  if (activity.kind != DeviceActivity::Kind::memset || activity.bytes < first || activity.bytes >= last) return {};
  if (activity.bytes % 4 != 0 || (activity.graph_node == 0 && activity.value != mark_code::value)) return {};
  return static_cast<std::uint32_t>((activity.bytes - first) / 4);
}

bool is_mark(const DeviceActivity& activity) {
  return mark_of(activity).has_value();
}

std::vector<TraceMark> device_marks(const DeviceTrace& device) {
  std::vector<TraceMark> marks;
  for (const auto& activity : device.activities) {
    if (const auto code = mark_of(activity)) marks.push_back({activity.begin_ns, *code});
  }
  std::sort(marks.begin(), marks.end(), [](const TraceMark& a, const TraceMark& b) { return a.at_ns < b.at_ns; });
  return marks;
}

class Writer {
 public:
  Writer(const std::string& path, const TraceFacts& facts, const TraceLog& log, const DeviceTrace& device)
      : facts_(facts), log_(log), device_(device), file_(path, base_ns(), head()) {}

  void write() {
    name_tracks();
    spans(log_.marks(), "user_annotation", pid_, thread_id());
    if (!facts_.host_time) {
      const auto marks = device_marks(device_);
      for (const auto& mark : marks) {
        if (!mark_code::is_step(mark.code)) continue;
        steps_begin_ = std::min(steps_begin_, mark.at_ns);
        steps_end_ = std::max(steps_end_, mark.at_ns);
      }
      spans(marks, "gpu_user_annotation", device_index(), mark_stream());
    }
    operators();
    collectives();
    calls();
    activities();
    for (const auto& point : log_.counters()) file_.counter(point.name, pid_, point.at_ns, point.value);
    file_.close();
  }

 private:
  std::int64_t base_ns() const { return log_.marks().empty() ? 0 : log_.marks().front().at_ns - 1'000'000'000; }
  /// A process may touch other devices too; the timeline is that of the rank's own.
  std::int64_t device_index() const { return facts_.device.value("index", 0); }

  Json head() const {
    auto devices = Json::array();
    if (!facts_.host_time) {
      devices.push_back({{"id", device_index()},
                         {"name", facts_.device.value("name", "")},
                         {"totalGlobalMem", facts_.device.value("memory_mib", 0.0) * 1024 * 1024},
                         {"numSms", facts_.device.value("multiprocessors", 0)}});
    }
    return {
        {"schemaVersion", 1},
        {"displayTimeUnit", "ms"},
        {"deviceProperties", devices},
        {"distributedInfo", {{"backend", facts_.backend}, {"rank", facts_.rank}, {"world_size", facts_.world_size}}},
        {"stepgauge",
         {{"trace_version", trace_version},
          {"timeline", facts_.host_time ? "host" : "device"},
          {"rank", facts_.rank},
          {"world_size", facts_.world_size},
          {"dropped", device_.dropped},
          {"event_step_ms", facts_.event_step_ms}}}};
  }

  void name_tracks() {
    file_.name_process(pid_, fmt::format("rank {} host", facts_.rank), "CPU", 2 * facts_.rank);
    file_.name_thread(pid_, thread_id(), "steps", 0);
    if (facts_.host_time) return;
    file_.name_process(device_index(), fmt::format("rank {} {}", facts_.rank, facts_.device.value("name", "GPU")),
                       fmt::format("GPU {}", device_index()), 2 * facts_.rank + 1);
    std::vector<std::uint32_t> streams;
    for (const auto& activity : device_.activities) {
      if (std::find(streams.begin(), streams.end(), activity.stream) == streams.end())
        streams.push_back(activity.stream);
    }
    for (const auto stream : streams)
      file_.name_thread(device_index(), stream, fmt::format("stream {}", stream), static_cast<int>(stream));
  }

  std::uint32_t mark_stream() const {
    for (const auto& activity : device_.activities) {
      if (is_mark(activity)) return activity.stream;
    }
    return 0;
  }

  /// Each mark lasts until the next one of its kind or of a higher one.
  void spans(const std::vector<TraceMark>& marks, const char* category, std::int64_t pid, std::int64_t tid) {
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const auto code = marks[i].code;
      const bool step = mark_code::is_step(code);
      auto next = i + 1;
      while (next < marks.size() && step && !mark_code::is_step(marks[next].code)) ++next;
      if (next >= marks.size()) continue;  // the mark behind the last step opens nothing
      const auto name = step ? fmt::format("ProfilerStep#{}", code - mark_code::step) : facts_.phase_names.at(code);
      file_.complete(category, name, pid, tid, marks[i].at_ns, marks[next].at_ns);
    }
  }

  void operators() {
    for (const auto& op : log_.operators())
      file_.complete("cpu_op", log_.names()[op.name], pid_, op.thread, op.begin_ns, op.end_ns);
  }

  void collectives() {
    for (const auto& call : log_.collectives()) {
      const auto end = call.done_ns > 0 ? call.done_ns : call.end_ns;
      file_.complete("user_annotation", fmt::format("{}:{}", facts_.backend, call.kind), pid_, call.thread,
                     call.begin_ns, end,
                     fmt::format(R"({{"sequence":{},"bytes":{},"bucket":{},"rank":{}}})", call.sequence, call.bytes,
                                 call.bucket, facts_.rank));
    }
  }

  void calls() {
    for (const auto& call : device_.calls) {
      file_.complete(call.driver ? "cuda_driver" : "cuda_runtime", call.name, pid_, call.thread, call.begin_ns,
                     call.end_ns, fmt::format(R"({{"correlation":{}}})", call.correlation));
    }
  }

  void activities() {
    std::unordered_map<std::uint32_t, const ApiCall*> by_correlation;
    for (const auto& call : device_.calls) by_correlation.emplace(call.correlation, &call);
    for (const auto& activity : device_.activities) {
      if (is_mark(activity) || activity.device != device_index() || outside(activity)) continue;
      activity_event(activity);
      const auto call = by_correlation.find(activity.correlation);
      if (call != by_correlation.end()) {
        file_.flow(activity.correlation, pid_, call->second->thread, call->second->begin_ns, activity.device,
                   activity.stream, activity.begin_ns);
      }
    }
  }

  /// Of the steps before the first mark, which only pay for the tracers' own first use.
  bool outside(const DeviceActivity& activity) const {
    return activity.end_ns <= steps_begin_ || activity.begin_ns >= steps_end_;
  }

  void activity_event(const DeviceActivity& activity) {
    auto arguments = fmt::format(R"({{"device":{},"stream":{},"correlation":{})", activity.device, activity.stream,
                                 activity.correlation);
    if (activity.graph_node != 0) arguments += fmt::format(R"(,"graph node id":{})", activity.graph_node);
    const char* category = "kernel";
    if (activity.kind == DeviceActivity::Kind::kernel) {
      arguments +=
          fmt::format(R"(,"grid":[{},{},{}],"block":[{},{},{}],"registers per thread":{},"shared memory":{}}})",
                      activity.grid[0], activity.grid[1], activity.grid[2], activity.block[0], activity.block[1],
                      activity.block[2], activity.registers, activity.shared_bytes);
    } else {
      category = activity.kind == DeviceActivity::Kind::memcpy ? "gpu_memcpy" : "gpu_memset";
      arguments += fmt::format(R"(,"bytes":{}}})", activity.bytes);
    }
    file_.complete(category, activity.name, activity.device, activity.stream, activity.begin_ns, activity.end_ns,
                   arguments);
  }

  const TraceFacts& facts_;
  const TraceLog& log_;
  const DeviceTrace& device_;
  const std::int64_t pid_ = ::getpid();
  TraceFileWriter file_;
  std::int64_t steps_begin_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t steps_end_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace

void write_trace(const std::string& path, const TraceFacts& facts, const TraceLog& log, const DeviceTrace& device) {
  Writer(path, facts, log, device).write();
}

}  // namespace stepgauge::worker
