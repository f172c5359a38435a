#pragma once
// From an activity to the call on the host that launched it.
#include <algorithm>
#include <utility>
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace::detail {

class CallIndex {
 public:
  /// Keeps a reference to `calls`, which are sorted by begin.
  explicit CallIndex(const std::vector<HostCall>& calls) : calls_(calls) {
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      if (calls[i].correlation != 0) entries_.emplace_back(calls[i].correlation, i);
    }
    if (!std::is_sorted(entries_.begin(), entries_.end())) std::sort(entries_.begin(), entries_.end());
  }

  /// Where a runtime call and the driver's inside it carry the same number, the outer one; nullptr: not recorded.
  const HostCall* find(std::uint32_t correlation) const {
    if (correlation == 0) return nullptr;
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), std::pair{correlation, std::uint32_t{0}});
    return found != entries_.end() && found->first == correlation ? &calls_[found->second] : nullptr;
  }

 private:
  const std::vector<HostCall>& calls_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries_;  ///< correlation, index of the call
};

}  // namespace stepgauge::trace::detail
