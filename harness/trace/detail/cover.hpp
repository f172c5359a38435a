#pragma once
// Which of many nested stretches of time covers a moment most closely.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stepgauge::trace::detail {

/// Over items with a `time`, sorted by begin; keeps a reference to them.
template <typename Item>
class Cover {
 public:
  explicit Cover(const std::vector<Item>& items) : items_(items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i % block == 0) last_end_.push_back(std::numeric_limits<std::int64_t>::min());
      last_end_.back() = std::max(last_end_.back(), items[i].time.end);
    }
  }

  /// Of the items that cover `at` the one that began last; nullptr: none does.
  const Item* deepest(std::int64_t at) const {
    const auto after = std::upper_bound(items_.begin(), items_.end(), at,
                                        [](std::int64_t time, const Item& item) { return time < item.time.begin; });
    for (auto i = static_cast<std::size_t>(after - items_.begin()); i > 0;) {
      if (i % block == 0 && last_end_[i / block - 1] <= at) {
        i -= block;  // none of these lasts that long
      } else if (at < items_[--i].time.end) {
        return &items_[i];
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t block = 64;
  const std::vector<Item>& items_;
  std::vector<std::int64_t> last_end_;  ///< of each block of items
};

}  // namespace stepgauge::trace::detail
