#include "worker/parallel/collective_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>

#include "contract/json_io.hpp"

namespace stepgauge::worker {
namespace {

constexpr auto write_every = std::chrono::milliseconds(250);
constexpr std::int64_t wait_for_end_ns = 1'000'000'000;  ///< then it is written as not ended
constexpr std::size_t time_width = 19;                   ///< digits of a time in ns until the year 2286

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(CollectiveLog::Clock::now().time_since_epoch()).count();
}

int open_new(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  return file;
}

std::atomic<CollectiveLog*> newest{nullptr};
std::terminate_handler before{nullptr};

/// gloo ends the process from a thread of its own when it is sent too much; the log must hold what led there.
[[noreturn]] void flush_and_terminate() {
  if (auto* log = newest.exchange(nullptr)) log->flush();
  if (before != nullptr) before();
  std::abort();
}

}  // namespace

CollectiveLog::CollectiveLog(const std::string& path, const Facts& facts) : ends_(facts.ends), file_(open_new(path)) {
  const Json head{{"schema", "stepgauge.collective_log"},    {"version", 1},          {"rank", facts.rank},
                  {"world_size", facts.world_size},          {"clock", "unix_ns"},    {"backend", facts.backend},
                  {"ends", facts.ends ? "host" : "unknown"}, {"launch", facts.launch}};
  write_at(0, dump_line(head) + "\n");
  writer_ = std::thread([this] { keep_writing(); });
  newest = this;
  if (std::get_terminate() != flush_and_terminate) before = std::set_terminate(flush_and_terminate);
}

CollectiveLog::~CollectiveLog() {
  auto* mine = this;
  newest.compare_exchange_strong(mine, nullptr);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
  flush();
  ::close(file_);
}

std::uint64_t CollectiveLog::enter(const CollectiveShape& shape) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({shape, phases_.size() - 1, unix_ns(), 0});
  ++running_;
  return written_ + entries_.size() - 1;
}

void CollectiveLog::end(std::uint64_t sequence) {
  const auto now = unix_ns();
  const std::lock_guard lock(mutex_);
  if (sequence < written_)
    late_ends_.emplace_back(sequence, now);
  else
    entries_[sequence - written_].end_ns = now;
  --running_;
  ended_.notify_all();
}

void CollectiveLog::wait_for_ends(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (ends_) ended_.wait_for(lock, patience, [this] { return running_ == 0; });
}

void CollectiveLog::phase(std::string_view name) {
  const std::lock_guard lock(mutex_);
  phases_.emplace_back(name);
}

void CollectiveLog::set_paused(bool paused) {
  const std::lock_guard lock(mutex_);
  paused_ = paused;
}

bool CollectiveLog::paused() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

std::string CollectiveLog::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void CollectiveLog::flush() {
  write_due(true);
}

void CollectiveLog::keep_writing() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, write_every, [this] { return stopping_; })) {
    lock.unlock();
    write_due(false);
    lock.lock();
  }
}

/// In order, up to the first that may still end soon. An end that comes later goes into the room that its line keeps.
void CollectiveLog::write_due(bool all) {
  const std::lock_guard writing(writing_);
  std::vector<Entry> due;
  std::vector<std::string> sites;
  decltype(late_ends_) late;
  std::uint64_t sequence = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto oldest = unix_ns() - wait_for_end_ns;
    sequence = written_;
    while (!entries_.empty()) {
      const auto& next = entries_.front();
      if (!all && ends_ && next.end_ns == 0 && next.enter_ns > oldest) break;
      due.push_back(next);
      entries_.pop_front();
      ++written_;
    }
    sites = phases_;
    late.swap(late_ends_);
  }
  std::string lines;
  for (const auto& entry : due) {
    const auto& shape = entry.shape;
    lines += fmt::format(R"([{},"{}",{},{},"{}",{},)", sequence, shape.kind, shape.bytes, shape.hash,
                         sites[entry.phase], entry.enter_ns);
    if (entry.end_ns == 0 && ends_) null_at_[sequence] = size_ + static_cast<std::int64_t>(lines.size());
    if (entry.end_ns != 0)
      lines += std::to_string(entry.end_ns);
    else
      lines += ends_ ? fmt::format("{:<{}}", "null", time_width) : "null";
    lines +=
        shape.dtype == nullptr ? std::string(",null,0]\n") : fmt::format(",\"{}\",{}]\n", shape.dtype, shape.count);
    ++sequence;
  }
  if (!lines.empty()) write_at(size_, lines);
  for (const auto& [ended, at_ns] : late) {
    const auto place = null_at_.find(ended);
    if (place == null_at_.end()) continue;
    write_at(place->second, std::to_string(at_ns));
    null_at_.erase(place);
  }
}

/// A log that cannot be written costs the launch nothing but a note.
void CollectiveLog::write_at(std::int64_t offset, std::string_view text) {
  while (!text.empty()) {
    const auto wrote = ::pwrite(file_, text.data(), text.size(), offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const std::lock_guard lock(mutex_);
      if (problem_.empty()) problem_ = std::string("the collective log is not whole: ") + std::strerror(errno);
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(wrote));
    offset += wrote;
    size_ = std::max(size_, offset);
  }
}

}  // namespace stepgauge::worker
