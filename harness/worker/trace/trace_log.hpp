#pragma once
// The host's side of a traced pass: marks of steps and phases, operators, collectives, counters. All times are ns of
// CLOCK_MONOTONIC. Recording is off until record(); then any thread may record.
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepgauge::worker {

struct HostSpan {
  std::uint32_t name = 0;  ///< index into TraceLog::names()
  std::int32_t thread = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// On the host's or the device's side of the pass.
struct TraceMark {
  std::int64_t at_ns = 0;
  std::uint32_t code = 0;  ///< mark_code
};

struct CollectiveCall {
  std::string kind;  ///< all_reduce, broadcast, ...
  std::int64_t sequence = 0, bytes = 0;
  std::int32_t bucket = -1, thread = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< the call
  std::int64_t done_ns = 0;               ///< completion, where the backend tells; 0: see the device
};

struct CounterPoint {
  std::string name;
  std::int64_t at_ns = 0;
  double value = 0;
};

class TraceLog {
 public:
  /// Room for this many operators is made now, so that recording them allocates little.
  void reserve(std::size_t operators);
  void record() { recording_ = true; }
  void stop() { recording_ = false; }
  bool recording() const { return recording_; }

  void mark(std::uint32_t code, std::int64_t at_ns) { marks_.push_back({at_ns, code}); }
  std::uint32_t intern(std::string_view name);
  void op(const char* name, std::int64_t begin_ns, std::int64_t end_ns);
  void counter(const char* name, std::int64_t at_ns, double value);

  /// Returns the entry's index; the call's end and the completion follow.
  std::size_t begin_collective(const char* kind, std::int64_t bytes, bool gradient);
  void end_collective_call(std::size_t index);
  void complete_collective(std::size_t index);

  /// Collectives that are captured into a graph happen in none of its captures and in every replay. Between these two
  /// they are kept apart; repeat_captured() enters them as calls of the step, just before the replay.
  void begin_capture() { capturing_ = true; }
  void end_capture() { capturing_ = false; }
  bool capturing() const { return capturing_; }
  void capture_collective(const char* kind, std::int64_t bytes, bool gradient);
  void repeat_captured();

  /// Buckets are counted anew in each step.
  void begin_step() { next_bucket_ = 0; }

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<TraceMark>& marks() const { return marks_; }
  const std::vector<HostSpan>& operators() const { return operators_; }
  const std::vector<CollectiveCall>& collectives() const { return collectives_; }
  const std::vector<CounterPoint>& counters() const { return counters_; }

 private:
  struct Captured {
    const char* kind;
    std::int64_t bytes;
    bool gradient;
  };
  bool recording_ = false, capturing_ = false;
  std::vector<Captured> captured_;
  std::mutex mutex_;
  std::vector<std::string> names_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> index_;  ///< found without making a string
  std::vector<TraceMark> marks_;
  std::vector<HostSpan> operators_;
  std::vector<CollectiveCall> collectives_;
  std::vector<CounterPoint> counters_;
  std::int32_t next_bucket_ = 0;
};

/// The calling thread, as the kernel numbers it.
std::int32_t thread_id();

}  // namespace stepgauge::worker
