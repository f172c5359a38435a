#include "verdict/bisect_search.hpp"

#include <algorithm>
#include <numeric>

namespace stepgauge::verdict {
namespace {

/// One run of ddmin over what is known; stops at the first answer that is not.
class DeltaDebugging {
 public:
  explicit DeltaDebugging(const std::map<SettingSubset, BisectAnswer>& answers) : answers_(answers) {}

  SettingSearch run(std::size_t count) {
    current_.resize(count);
    std::iota(current_.begin(), current_.end(), std::size_t{0});
    std::size_t parts = 2;
    while (current_.size() >= 2 && !out_.ask) {
      if (reduce(parts)) continue;
      if (out_.ask || parts >= current_.size()) break;
      parts = std::min(2 * parts, current_.size());
    }
    out_.found = current_;
    if (!out_.ask) note_uncleared();
    return out_;
  }

 private:
  SettingSubset part(std::size_t index, std::size_t parts) const {
    const auto at = [&](std::size_t i) { return static_cast<std::ptrdiff_t>(i * current_.size() / parts); };
    return {current_.begin() + at(index), current_.begin() + at(index + 1)};
  }

  SettingSubset without(const SettingSubset& some) const {
    SettingSubset out;
    std::set_difference(current_.begin(), current_.end(), some.begin(), some.end(), std::back_inserter(out));
    return out;
  }

  /// False as well when the answer is not there yet: it is then what to ask.
  bool different(const SettingSubset& subset) {
    const auto found = answers_.find(subset);
    if (found == answers_.end()) out_.ask = subset;
    return found != answers_.end() && found->second == BisectAnswer::different;
  }

  /// Goes on with a part, or with all but a part, that is different by itself.
  bool reduce(std::size_t& parts) {
    for (std::size_t i = 0; i < parts; ++i) {
      const auto chosen = part(i, parts);
      if (different(chosen)) {
        current_ = chosen;
        parts = 2;
        return true;
      }
      if (out_.ask) return false;
    }
    for (std::size_t i = 0; parts > 2 && i < parts; ++i) {
      const auto rest = without(part(i, parts));
      if (different(rest)) {
        current_ = rest;
        parts = std::max<std::size_t>(parts - 1, 2);
        return true;
      }
      if (out_.ask) return false;
    }
    return false;
  }

  void note_uncleared() {
    if (current_.size() < 2) return;
    for (const auto setting : current_) {
      const auto found = answers_.find(without({setting}));
      if (found == answers_.end() || found->second != BisectAnswer::same) out_.uncleared.push_back(setting);
    }
  }

  const std::map<SettingSubset, BisectAnswer>& answers_;
  SettingSubset current_;
  SettingSearch out_;
};

}  // namespace

std::string_view to_string(BisectAnswer answer) {
  switch (answer) {
    case BisectAnswer::same:
      return "same";
    case BisectAnswer::different:
      return "different";
    case BisectAnswer::unknown:
      return "unknown";
    default:
      return "skipped";
  }
}

CommitRange commit_range(const std::vector<std::optional<BisectAnswer>>& answers) {
  CommitRange out{0, answers.empty() ? 0 : answers.size() - 1};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == BisectAnswer::different) {
      out.first_bad = i;
      break;
    }
    if (answers[i] == BisectAnswer::same) out.last_good = i;
  }
  return out;
}

std::optional<std::size_t> next_midpoint(const std::vector<std::optional<BisectAnswer>>& answers) {
  const auto range = commit_range(answers);
  std::optional<std::size_t> middle;
  std::size_t longest = 0;
  for (std::size_t begin = range.last_good + 1; begin < range.first_bad;) {
    std::size_t end = begin;
    while (end < range.first_bad && !answers[end]) ++end;
    if (end - begin > longest) {
      longest = end - begin;
      middle = begin + (end - begin) / 2;
    }
    begin = end + 1;
  }
  return middle;
}

SettingSearch next_subset(std::size_t count, const std::map<SettingSubset, BisectAnswer>& answers) {
  return DeltaDebugging(answers).run(count);
}

}  // namespace stepgauge::verdict
