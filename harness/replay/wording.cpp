#include "replay/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

namespace stepgauge::replay {
namespace {

constexpr std::size_t shown_ranks = 4;

}  // namespace

std::string size_text(std::int64_t bytes) {
  if (bytes == not_known) return "size not known";
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string op_text(const Op& op) {
  if (op.kind == Kind::barrier) return "barrier";
  return fmt::format("{}, {}", to_string(op.kind), size_text(op.bytes));
}

std::string collective_text(std::int64_t sequence, const Op& op) {
  return fmt::format("{} ({})", sequence, op_text(op));
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() > shown_ranks) {
    return fmt::format("ranks {} and {} more", fmt::join(ranks.begin(), ranks.begin() + shown_ranks - 1, ", "),
                       ranks.size() - shown_ranks + 1);
  }
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "), ranks.back());
}

std::string group_text(const Group& group, const CollectiveLog& log) {
  if (log.groups.size() == 1) return "";
  return fmt::format(" in group {}", group.name.empty() ? "(default)" : group.name);
}

std::string ms_text(std::int64_t ns) {
  const auto ms = static_cast<double>(ns) / 1e6;
  const auto size = std::abs(ms);
  return size >= 100 ? fmt::format("{:.0f}", ms) : size >= 10 ? fmt::format("{:.1f}", ms) : fmt::format("{:.2f}", ms);
}

std::string difference_text(const Op& op, const Op& expected) {
  if (op.kind != expected.kind) return fmt::format("{} instead of {}", op_text(op), op_text(expected));
  const auto known = [](std::int64_t value) { return value != not_known; };
  if (op.bytes != expected.bytes && known(op.bytes) && known(expected.bytes)) {
    return fmt::format("{} of {} instead of {}", to_string(op.kind), size_text(op.bytes), size_text(expected.bytes));
  }
  if (op.dtype != expected.dtype && !op.dtype.empty() && !expected.dtype.empty()) {
    return fmt::format("{} of {} instead of {}", to_string(op.kind), op.dtype, expected.dtype);
  }
  if (op.count != expected.count && known(op.count) && known(expected.count)) {
    return fmt::format("{} of {} elements instead of {}", to_string(op.kind), op.count, expected.count);
  }
  return fmt::format("{} of another shape of the same size", to_string(op.kind));
}

}  // namespace stepgauge::replay
