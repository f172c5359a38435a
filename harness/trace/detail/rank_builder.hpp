#pragma once
// Collects the events of one rank and makes its timeline of them.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/detail/collective_links.hpp"
#include "trace/detail/file_head.hpp"
#include "trace/detail/trace_event.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::trace::detail {

class RankBuilder {
 public:
  /// Takes a complete event or a counter; others only count. What is wrong with the event, nullptr when nothing is.
  const char* add(const TraceEvent& event);

  /// The device of the kernels, 0 where there is none.
  std::int64_t device() const { return device_.value_or(0); }

  /// The timeline, its times moved by `base_ns`. The builder is empty afterwards.
  RankTimeline finish(const RankHead& head, std::int64_t base_ns);

 private:
  /// An annotation whose meaning is known when the whole file is.
  struct Note {
    Interval time;
    std::string name;
    std::optional<std::int64_t> sequence;
    std::int64_t bytes = 0;
    std::int32_t bucket = -1;
  };
  enum class Category { kernel, memcpy, memset, runtime, driver, op, annotation, device_annotation, other };

  static Category category_of(std::string_view text);
  const char* add_complete(const TraceEvent& event);
  void add_activity(const TraceEvent& event, const Interval& time, ActivityKind kind);
  void add_kernel_collective(const TraceEvent& event, const Interval& time);
  void ignore(std::string key);
  std::uint32_t name_index(std::string_view name);

  void move_times(std::int64_t by);
  void read_host_notes();
  void read_device_notes();
  void choose_steps();
  void finish_last_step();
  void operators_to_activities();
  void sort();

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  RankTimeline timeline_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> names_;
  std::size_t name_bytes_ = 0;
  std::vector<Note> host_notes_, device_notes_;
  std::vector<Span> host_steps_, device_steps_;
  std::vector<CollectiveCall> calls_, kernel_calls_;  ///< collectives by annotations and by the args of kernels
  std::optional<std::int64_t> device_;
  std::int64_t largest_group_ = 1;
};

}  // namespace stepgauge::trace::detail
