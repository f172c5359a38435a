#include "worker/trace/trace_log.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "contract/clock.hpp"
#include "worker/rank_environment.hpp"

namespace stepgauge::worker {

std::int32_t thread_id() {
  thread_local const auto id = static_cast<std::int32_t>(::syscall(SYS_gettid));
  return id;
}

void TraceLog::reserve(std::size_t operators) {
  operators_.reserve(operators);
  marks_.reserve(4096);
}

std::uint32_t TraceLog::intern(std::string_view name) {
  if (const auto found = index_.find(name); found != index_.end()) return found->second;
  names_.emplace_back(name);
  return index_.emplace(name, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
}

void TraceLog::op(const char* name, std::int64_t begin_ns, std::int64_t end_ns) {
  const std::lock_guard lock(mutex_);
  operators_.push_back({intern(name), thread_id(), begin_ns, end_ns});
}

void TraceLog::counter(const char* name, std::int64_t at_ns, double value) {
  const std::lock_guard lock(mutex_);
  counters_.push_back({name, at_ns, value});
}

std::size_t TraceLog::begin_collective(const char* kind, std::int64_t bytes, bool gradient) {
  const std::lock_guard lock(mutex_);
  CollectiveCall call;
  call.kind = kind;
  call.sequence = static_cast<std::int64_t>(collectives_.size());
  call.bytes = bytes;
  call.bucket = gradient ? next_bucket_++ : -1;
  call.thread = thread_id();
  call.begin_ns = monotonic_ns();
  collectives_.push_back(std::move(call));
  return collectives_.size() - 1;
}

void TraceLog::capture_collective(const char* kind, std::int64_t bytes, bool gradient) {
  const std::lock_guard lock(mutex_);
  captured_.push_back({kind, bytes, gradient});
}

void TraceLog::repeat_captured() {
  if (!recording_) return;
  for (const auto& [kind, bytes, gradient] : captured_) end_collective_call(begin_collective(kind, bytes, gradient));
}

void TraceLog::end_collective_call(std::size_t index) {
  const std::lock_guard lock(mutex_);
  collectives_[index].end_ns = monotonic_ns();
}

void TraceLog::complete_collective(std::size_t index) {
  const std::lock_guard lock(mutex_);
  collectives_[index].done_ns = monotonic_ns();
}

}  // namespace stepgauge::worker
