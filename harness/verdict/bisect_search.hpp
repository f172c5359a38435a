#pragma once
// What to measure next when looking for the commit, or the settings, that made a metric worse. Pure: the same answers
// give the same next question, so that a search is gone on with by asking again.
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace stepgauge::verdict {

/// Of a midpoint against the good end.
enum class BisectAnswer {
  same,
  different,
  unknown,  ///< the test did not decide with all the pairs that it may take
  skipped,  ///< cannot be measured: it does not build, or its launches fail
};
std::string_view to_string(BisectAnswer answer);

/// Commits from the good end (first) to the bad end (last); nullopt: not asked yet. The first is `same`, the last
/// `different`. The next one to ask: in the middle of the longest stretch of those not asked between the last `same`
/// and the `different` after it, so that unknown ones are stepped over widely; nullopt when none is left.
std::optional<std::size_t> next_midpoint(const std::vector<std::optional<BisectAnswer>>& answers);

/// Where the change is: after `last_good`, at or before `first_bad`. Found when the two are neighbours.
struct CommitRange {
  std::size_t last_good = 0, first_bad = 0;
  bool found() const { return first_bad == last_good + 1; }
};
CommitRange commit_range(const std::vector<std::optional<BisectAnswer>>& answers);

using SettingSubset = std::vector<std::size_t>;  ///< indices of settings that are as in the bad end, ascending

/// Delta debugging (Zeller and Hildebrandt 2002, ddmin) over `count` settings; all of them together are `different`,
/// none of them is `same`. `unknown` and `skipped` count as "not shown to be different".
struct SettingSearch {
  std::optional<SettingSubset> ask;  ///< the next subset to measure; nullopt: the search has ended
  SettingSubset found;               ///< the smallest subset so far that is `different`
  SettingSubset uncleared;           ///< once ended: of these it is not known whether `found` needs them
};
SettingSearch next_subset(std::size_t count, const std::map<SettingSubset, BisectAnswer>& answers);

}  // namespace stepgauge::verdict
