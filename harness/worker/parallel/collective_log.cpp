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
constexpr std::size_t time_width = 19;                   ///< digits of a time in ns, from 2001 until 2286

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

CollectiveLog::CollectiveLog(const std::string& path, const Facts& facts, std::unique_ptr<DeviceStamps> stamps)
    : stamps_(std::move(stamps)), file_(open_new(path)) {
  const Json head{{"schema", "stepgauge.collective_log"}, {"version", 1},          {"rank", facts.rank},
                  {"world_size", facts.world_size},       {"clock", "unix_ns"},    {"backend", facts.backend},
                  {"ends", stamps_ ? "device" : "host"},  {"launch", facts.launch}};
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

std::optional<std::uint64_t> CollectiveLog::enter(const CollectiveShape& shape) {
  const auto point = stamps_ ? stamps_->put() : std::nullopt;
  if (stamps_ && !point) return std::nullopt;
  const std::lock_guard lock(mutex_);
  entries_.push_back({shape, phases_.size() - 1, unix_ns(), 0});
  const auto sequence = written_ + entries_.size() - 1;
  if (point) submitted_.push_back({sequence, *point, std::nullopt});
  ++running_;
  return sequence;
}

void CollectiveLog::end(std::uint64_t sequence) {
  const auto point = stamps_ ? stamps_->put() : std::nullopt;
  const auto now = unix_ns();
  const std::lock_guard lock(mutex_);
  if (!stamps_) return set_times({sequence, 0, now});
  const auto of_it = [&](const auto& one) { return one.sequence == sequence; };
  const auto found = std::find_if(submitted_.rbegin(), submitted_.rend(), of_it);
  if (found != submitted_.rend()) found->end = point;
}

/// With mutex_.
void CollectiveLog::set_times(const Times& times) {
  if (times.sequence < written_) {
    late_.push_back(times);
  } else {
    auto& entry = entries_[times.sequence - written_];
    entry.end_ns = times.end_ns;
    if (times.enter_ns != 0) entry.enter_ns = times.enter_ns;
  }
  --running_;
  ended_.notify_all();
}

/// With mutex_. Up to the first that the device has not come past; one that could not be submitted is left.
void CollectiveLog::read_stamps() {
  for (auto at = submitted_.begin(); at != submitted_.end();) {
    if (!at->end) {
      ++at;
      continue;
    }
    const auto end = stamps_->read(*at->end);
    if (!end) return;
    set_times({at->sequence, stamps_->read(at->enter).value_or(0), *end});
    at = submitted_.erase(at);
  }
}

void CollectiveLog::wait_for_ends(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  if (!stamps_) {
    ended_.wait_until(lock, until, [this] { return running_ == 0; });
    return;
  }
  for (read_stamps(); running_ > 0 && std::chrono::steady_clock::now() < until; read_stamps())
    ended_.wait_for(lock, std::chrono::milliseconds(1));
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
  decltype(late_) late;
  std::uint64_t sequence = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stamps_) read_stamps();
    const auto oldest = unix_ns() - wait_for_end_ns;
    sequence = written_;
    while (!entries_.empty()) {
      const auto& next = entries_.front();
      if (!all && next.end_ns == 0 && next.enter_ns > oldest) break;
      due.push_back(next);
      entries_.pop_front();
      ++written_;
    }
    sites = phases_;
    late.swap(late_);
  }
  std::string lines;
  for (const auto& entry : due) {
    const auto& shape = entry.shape;
    lines += fmt::format(R"([{},"{}",{},{},"{}",)", sequence, shape.kind, shape.bytes, shape.hash, sites[entry.phase]);
    const auto enter_at = size_ + static_cast<std::int64_t>(lines.size());
    lines += fmt::format("{},", entry.enter_ns);
    if (entry.end_ns == 0) open_[sequence] = {enter_at, size_ + static_cast<std::int64_t>(lines.size())};
    lines += entry.end_ns == 0 ? fmt::format("{:<{}}", "null", time_width) : std::to_string(entry.end_ns);
    lines +=
        shape.dtype == nullptr ? std::string(",null,0]\n") : fmt::format(",\"{}\",{}]\n", shape.dtype, shape.count);
    ++sequence;
  }
  if (!lines.empty()) write_at(size_, lines);
  for (const auto& times : late) {
    const auto place = open_.find(times.sequence);
    if (place == open_.end()) continue;
    write_at(place->second.end, std::to_string(times.end_ns));
    if (times.enter_ns != 0) write_at(place->second.enter, std::to_string(times.enter_ns));
    open_.erase(place);
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
