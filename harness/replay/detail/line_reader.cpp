#include "replay/detail/line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace stepgauge::replay::detail {

LineReader::LineReader(const std::string& path) : source_(path, "a log of collectives"), buffer_(longest_line) {}

bool LineReader::refill() {
  if (at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const auto count = source_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += count;
  at_end_ = count == 0;
  return count > 0;
}

std::string_view LineReader::beginning() {
  while (end_ < buffer_.size() && refill()) {
  }
  return {buffer_.data(), end_};
}

/// What is left of a line that was too long.
void LineReader::pass_over_rest() {
  pass_over_ = false;
  while (begin_ < end_ || refill()) {
    const auto* from = buffer_.data() + begin_;
    const auto* found = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    begin_ = found == nullptr ? end_ : begin_ + static_cast<std::size_t>(found - from) + 1;
    if (found != nullptr) return;
  }
}

bool LineReader::next(std::string_view& line) {
  if (pass_over_) pass_over_rest();
  std::size_t searched = 0;
  while (true) {
    const auto* from = buffer_.data() + begin_;
    const auto* found = static_cast<const char*>(std::memchr(from + searched, '\n', end_ - begin_ - searched));
    if (found != nullptr) {
      line = {from, static_cast<std::size_t>(found - from)};
      begin_ += line.size() + 1;
      whole_ = true;
      break;
    }
    searched = end_ - begin_;
    if (searched == buffer_.size()) {  // too long: the beginning of it is the line
      line = {buffer_.data(), searched};
      begin_ = end_;
      whole_ = false;
      pass_over_ = true;
      break;
    }
    if (refill()) continue;
    if (searched == 0) return false;
    line = {buffer_.data() + begin_, end_ - begin_};
    begin_ = end_;
    whole_ = false;
    break;
  }
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

}  // namespace stepgauge::replay::detail
