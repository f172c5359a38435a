#include "launch/log_sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace stepgauge::launch {

LogSink::LogSink(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (!file_) throw std::system_error(errno, std::generic_category(), path.string() + ": cannot create");
}

void LogSink::append(std::string_view bytes) {
  if (total_ < part_bytes) write_out(bytes.substr(0, part_bytes - total_));
  const auto skipped = bytes.size() > part_bytes ? bytes.size() - part_bytes : 0;
  auto at = total_ + skipped;
  total_ += bytes.size();
  bytes.remove_prefix(skipped);
  if (const auto needed = std::min<std::uint64_t>(total_, part_bytes); ring_.size() < needed) ring_.resize(needed);
  while (!bytes.empty()) {
    const auto start = static_cast<std::size_t>(at % part_bytes);
    const auto count = std::min(bytes.size(), part_bytes - start);
    std::memcpy(ring_.data() + start, bytes.data(), count);
    at += count;
    bytes.remove_prefix(count);
  }
}

std::uint64_t LogSink::dropped_bytes() const {
  return total_ > 2 * part_bytes ? total_ - 2 * part_bytes : 0;
}

std::string LogSink::tail() const {
  if (total_ <= part_bytes) return ring_;
  const auto split = static_cast<std::size_t>(total_ % part_bytes);
  return ring_.substr(split) + ring_.substr(0, split);
}

void LogSink::finish() noexcept {
  try {
    if (const auto dropped = dropped_bytes(); dropped > 0) {
      write_out(fmt::format("\n[stepgauge: {} bytes dropped here]\n", dropped));
    }
    if (total_ > part_bytes) {
      const auto held = tail();
      const auto fresh = std::min<std::uint64_t>(total_ - part_bytes, part_bytes);
      write_out(std::string_view(held).substr(held.size() - fresh));
    }
  } catch (const std::exception&) {
    if (write_error_ == 0) write_error_ = ENOMEM;
  }
  file_.reset();
}

void LogSink::write_out(std::string_view bytes) noexcept {
  while (!bytes.empty() && write_error_ == 0) {
    const auto count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      write_error_ = errno;
    } else {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
}

}  // namespace stepgauge::launch
