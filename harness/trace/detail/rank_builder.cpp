#include "trace/detail/rank_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "contract/lower_case.hpp"
#include "trace/classify.hpp"
#include "trace/detail/call_index.hpp"

namespace stepgauge::trace::detail {
namespace {

constexpr std::size_t most_name_bytes = 512u << 20;
constexpr std::size_t most_ignored_categories = 1000;
constexpr std::string_view step_prefix = "ProfilerStep#";

/// Kineto writes them among the kernels of some versions; nothing runs meanwhile.
bool is_synchronisation(std::string_view name) {
  static constexpr std::array<std::string_view, 4> names{"Context Sync", "Event Sync", "Stream Sync",
                                                         "Stream Wait Event"};
  return std::any_of(names.begin(), names.end(), [name](auto prefix) { return name.starts_with(prefix); });
}

/// The call of a process group that an annotation marks: "nccl:all_reduce".
bool is_collective(std::string_view name) {
  static constexpr std::array<std::string_view, 4> backends{"nccl:", "gloo:", "mpi:", "ucc:"};
  return std::any_of(backends.begin(), backends.end(), [name](auto prefix) { return name.starts_with(prefix); });
}

/// forward, backward or optimizer under the names that PyTorch's programs give them; else empty.
std::string known_phase(std::string_view name) {
  while (!name.empty() && (name.front() == '#' || name.front() == ' ')) name.remove_prefix(1);
  while (!name.empty() && (name.back() == '#' || name.back() == ' ')) name.remove_suffix(1);
  if (name.starts_with("Optimizer.step#")) return "optimizer";
  if (name == "DistributedDataParallel.forward") return "forward";
  const auto lower = lower_case(name);
  return lower == "forward" || lower == "backward" || lower == "optimizer" ? lower : "";
}

std::int64_t bytes_per_element(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 16> sizes{{{"Float", 4},
                                                                                    {"Double", 8},
                                                                                    {"Half", 2},
                                                                                    {"BFloat16", 2},
                                                                                    {"Byte", 1},
                                                                                    {"Char", 1},
                                                                                    {"Short", 2},
                                                                                    {"Int", 4},
                                                                                    {"Long", 8},
                                                                                    {"Bool", 1},
                                                                                    {"ComplexFloat", 8},
                                                                                    {"ComplexDouble", 16},
                                                                                    {"Float8_e4m3fn", 1},
                                                                                    {"Float8_e5m2", 1},
                                                                                    {"Float8_e4m3fnuz", 1},
                                                                                    {"Float8_e5m2fnuz", 1}}};
  const auto found =
      std::find_if(sizes.begin(), sizes.end(), [dtype](const auto& entry) { return entry.first == dtype; });
  return found == sizes.end() ? 0 : found->second;
}

/// 7 of "ProfilerStep#7"; -1 where no number follows.
std::int64_t step_number(std::string_view name) {
  std::int64_t number = -1;
  name.remove_prefix(step_prefix.size());
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

bool earlier(const Span& a, const Span& b) {
  return std::pair{a.time.begin, a.time.end} < std::pair{b.time.begin, b.time.end};
}

/// A step is marked once on each of the device's streams: from the first begin to the last end.
std::vector<Span> one_window_a_step(std::vector<Span> steps) {
  std::map<std::string, Interval> windows;
  for (auto& step : steps) {
    const auto [at, is_new] = windows.emplace(std::move(step.name), step.time);
    if (is_new) continue;
    at->second.begin = std::min(at->second.begin, step.time.begin);
    at->second.end = std::max(at->second.end, step.time.end);
  }
  std::vector<Span> out;
  out.reserve(windows.size());
  for (auto& [name, time] : windows) out.push_back({time, name});
  std::sort(out.begin(), out.end(), earlier);
  return out;
}

/// Kineto marks a step on the device from its first kernel to its last one: the wait between two steps would belong to
/// neither, and overlapping work to both. A step lasts until the next one begins.
void close_ranks(std::vector<Span>& steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    auto& time = steps[i - 1].time;
    const auto next = steps[i].time.begin;
    if (time.end > next || step_number(steps[i].name) == step_number(steps[i - 1].name) + 1) time.end = next;
  }
}

}  // namespace

RankBuilder::Category RankBuilder::category_of(std::string_view text) {
  // The capitals are those of PyTorch before 1.12.
  static constexpr std::array<std::pair<std::string_view, Category>, 13> table{
      {{"kernel", Category::kernel},
       {"cuda_runtime", Category::runtime},
       {"cpu_op", Category::op},
       {"cuda_driver", Category::driver},
       {"gpu_memcpy", Category::memcpy},
       {"gpu_memset", Category::memset},
       {"user_annotation", Category::annotation},
       {"gpu_user_annotation", Category::device_annotation},
       {"Kernel", Category::kernel},
       {"Memcpy", Category::memcpy},
       {"Memset", Category::memset},
       {"Runtime", Category::runtime},
       {"Operator", Category::op}}};
  for (const auto& [name, category] : table) {
    if (text == name) return category;
  }
  return Category::other;
}

void RankBuilder::ignore(std::string key) {
  auto& ignored = timeline_.ignored;
  if (ignored.size() >= most_ignored_categories && ignored.find(key) == ignored.end()) key = "other categories";
  ++ignored[key];
}

std::uint32_t RankBuilder::name_index(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(timeline_.names.size());
  timeline_.names.emplace_back(name);
  names_.emplace(name, index);
  name_bytes_ += name.size();
  return index;
}

const char* RankBuilder::add(const TraceEvent& event) {
  if (event.phase == "X") return add_complete(event);
  if (event.phase == "C") {
    if (!event.begin) return "a counter without \"ts\"";
    if (event.value) timeline_.counters.push_back({*event.begin, event.name, *event.value});
  } else if (event.phase.empty()) {
    return "no \"ph\"; expected an event of the Chrome trace format";
  } else if (event.phase != "M" && event.phase != "s" && event.phase != "t" && event.phase != "f") {
    // Names and arrows carry nothing that is not in the events themselves; other phases are not read.
    ignore(event.category.empty() ? fmt::format("ph {}", event.phase.substr(0, 8)) : event.category.substr(0, 100));
  }
  return nullptr;
}

const char* RankBuilder::add_complete(const TraceEvent& event) {
  const auto category = category_of(event.category);
  if (category == Category::other) {
    ignore(event.category.empty() ? "no category" : event.category.substr(0, 100));
    return nullptr;
  }
  if (!event.begin) return "no \"ts\"";
  if (!event.duration) return "no \"dur\"";
  if (*event.duration < 0) return "\"dur\" is negative";
  if (name_bytes_ > most_name_bytes) return "more than 512 MiB of different names";
  const Interval time{*event.begin, *event.begin + *event.duration};
  const auto note = [&](std::vector<Note>& notes) {
    notes.push_back({time, event.name, event.sequence, event.bytes, static_cast<std::int32_t>(event.bucket)});
  };
  const auto call = [&](CallKind kind) {
    timeline_.calls.push_back(
        {time, name_index(event.name), static_cast<std::int32_t>(event.tid), kind, event.correlation});
  };
  switch (category) {
    case Category::kernel:
      add_activity(event, time, ActivityKind::kernel);
      break;
    case Category::memcpy:
      add_activity(event, time, ActivityKind::memcpy);
      break;
    case Category::memset:
      add_activity(event, time, ActivityKind::memset);
      break;
    case Category::runtime:
      call(CallKind::runtime);
      break;
    case Category::driver:
      call(CallKind::driver);
      break;
    case Category::op:
      // PyTorch before 1.12 marked steps so.
      event.name.starts_with(step_prefix) ? note(host_notes_) : call(CallKind::op);
      break;
    case Category::annotation:
      note(host_notes_);
      break;
    default:
      note(device_notes_);
  }
  return nullptr;
}

void RankBuilder::add_activity(const TraceEvent& event, const Interval& time, ActivityKind kind) {
  if (is_synchronisation(event.name)) return ignore("synchronisation");
  if (event.device && !device_) device_ = event.device;
  // A rank's timeline is that of one device; work of a second one would count as if it ran on the first.
  if (event.device && event.device != device_) {
    return ignore(fmt::format("{} on device {}", event.category, *event.device));
  }
  Activity activity;
  activity.time = time;
  activity.name = name_index(event.name);
  activity.stream = static_cast<std::int32_t>(event.stream.value_or(event.tid));
  activity.kind = kind;
  activity.correlation = event.correlation;
  activity.graph_node = event.graph_node;
  activity.bytes = kind == ActivityKind::kernel ? 0 : event.bytes;
  timeline_.activities.push_back(activity);
  if (!event.collective.empty()) add_kernel_collective(event, time);
}

void RankBuilder::add_kernel_collective(const TraceEvent& event, const Interval& time) {
  CollectiveCall call;
  call.kind = collective_kind(event.collective);
  call.device = time;
  call.correlation = event.correlation;
  call.sequence = event.sequence;
  call.bytes = event.elements * bytes_per_element(event.dtype);
  kernel_calls_.push_back(std::move(call));
  largest_group_ = std::max(largest_group_, event.group_size);
}

void RankBuilder::move_times(std::int64_t by) {
  const auto move = [by](Interval& time) {
    time.begin += by;
    time.end += by;
  };
  for (auto& activity : timeline_.activities) move(activity.time);
  for (auto& call : timeline_.calls) move(call.time);
  for (auto& note : host_notes_) move(note.time);
  for (auto& note : device_notes_) move(note.time);
  for (auto& call : kernel_calls_) move(call.device);
  for (auto& sample : timeline_.counters) sample.at += by;
}

void RankBuilder::read_host_notes() {
  for (auto& note : host_notes_) {
    const auto phase = known_phase(note.name);
    if (note.name.starts_with(step_prefix)) {
      host_steps_.push_back({note.time, std::move(note.name)});
    } else if (is_collective(note.name)) {
      CollectiveCall call;
      call.kind = collective_kind(note.name);
      call.host = note.time;
      call.sequence = note.sequence;
      call.bytes = note.bytes;
      call.bucket = note.bucket;
      calls_.push_back(std::move(call));
    } else if (!phase.empty() || !timeline_.foreign) {
      timeline_.phases.push_back({note.time, phase.empty() ? note.name : phase});
    } else {
      ignore("user_annotation");
    }
  }
  host_notes_.clear();
}

void RankBuilder::read_device_notes() {
  for (auto& note : device_notes_) {
    const auto phase = known_phase(note.name);
    if (note.name.starts_with(step_prefix)) {
      device_steps_.push_back({note.time, std::move(note.name)});
    } else if (!phase.empty() || (!timeline_.foreign && !is_collective(note.name))) {
      timeline_.device_phases.push_back({note.time, phase.empty() ? note.name : phase});
    } else {
      ignore("gpu_user_annotation");
    }
  }
  device_notes_.clear();
}

void RankBuilder::choose_steps() {
  const bool by_device = !timeline_.host_time && !device_steps_.empty();
  timeline_.steps = one_window_a_step(by_device ? std::move(device_steps_) : host_steps_);
  if (timeline_.foreign) close_ranks(timeline_.steps);
}

/// The last step of a foreign trace ends with the last work that was launched while the host was in it: Kineto's own
/// mark on the device knows nothing of what other threads launched, such as autograd's, and ends with the forward pass.
void RankBuilder::finish_last_step() {
  if (!timeline_.foreign || timeline_.host_time || timeline_.steps.empty()) return;
  auto& last = timeline_.steps.back();
  const auto host =
      std::find_if(host_steps_.begin(), host_steps_.end(), [&](const Span& step) { return step.name == last.name; });
  if (host == host_steps_.end()) return;
  const CallIndex index(timeline_.calls);
  for (const auto& activity : timeline_.activities) {
    const auto* call = index.find(activity.correlation);
    if (call == nullptr || call->time.begin < host->time.begin || call->time.begin >= host->time.end) continue;
    last.time.end = std::max(last.time.end, activity.time.end);
  }
}

/// On a CPU the operators are what keeps the device busy, and collectives do beside them.
void RankBuilder::operators_to_activities() {
  std::vector<HostCall> others;
  for (const auto& call : timeline_.calls) {
    if (call.kind != CallKind::op) {
      others.push_back(call);
      continue;
    }
    Activity activity;
    activity.time = call.time;
    activity.name = call.name;
    activity.stream = call.thread;
    activity.kind = ActivityKind::host_op;
    timeline_.activities.push_back(activity);
  }
  timeline_.calls = std::move(others);
  for (const auto& call : calls_) {
    Activity activity;
    activity.time = call.host;
    activity.name = name_index(call.kind);
    activity.kind = ActivityKind::collective;
    activity.bytes = call.bytes;
    timeline_.activities.push_back(activity);
  }
}

void RankBuilder::sort() {
  const auto by_time = [](const auto& a, const auto& b) {
    return std::pair{a.time.begin, a.time.end} < std::pair{b.time.begin, b.time.end};
  };
  const auto put_in_order = [&](auto& all) {
    if (!std::is_sorted(all.begin(), all.end(), by_time)) std::stable_sort(all.begin(), all.end(), by_time);
  };
  put_in_order(timeline_.activities);
  put_in_order(timeline_.phases);
  put_in_order(timeline_.device_phases);
  // Of calls that begin together the enclosing one comes first.
  std::stable_sort(timeline_.calls.begin(), timeline_.calls.end(), [](const auto& a, const auto& b) {
    return std::pair{a.time.begin, -a.time.end} < std::pair{b.time.begin, -b.time.end};
  });
  std::stable_sort(timeline_.counters.begin(), timeline_.counters.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
}

RankTimeline RankBuilder::finish(const RankHead& head, std::int64_t base_ns) {
  timeline_.rank = head.rank;
  timeline_.world_size = head.world_size.value_or(static_cast<int>(std::min<std::int64_t>(largest_group_, 1'000'000)));
  timeline_.foreign = head.foreign;
  timeline_.device_name = head.device_name;
  timeline_.dropped = head.dropped;
  timeline_.event_step_ms = head.event_step_ms;
  timeline_.clock_shift = head.clock_shift;
  timeline_.host_time = head.host_time.value_or(timeline_.activities.empty() && !timeline_.calls.empty());
  move_times(base_ns);
  read_host_notes();
  read_device_notes();
  choose_steps();
  if (timeline_.host_time) operators_to_activities();
  sort();
  finish_last_step();
  classify(timeline_);
  link_collectives(std::move(kernel_calls_.empty() || timeline_.host_time ? calls_ : kernel_calls_), timeline_);
  return std::exchange(timeline_, {});
}

}  // namespace stepgauge::trace::detail
