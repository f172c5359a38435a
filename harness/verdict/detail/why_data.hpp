#pragma once
// Numbers and texts of the launches of a cell, for explanations. Records of other workers may lack any of it, or hold
// it in another shape: what cannot be read is not there.
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contract/result_set.hpp"
#include "verdict/why.hpp"

namespace stepgauge::verdict::detail {

using Values = std::map<std::string, double>;
using Texts = std::map<std::string, std::set<std::string>>;

/// A cell in both arms; only launches that went well.
struct Arms {
  const CellResults* base = nullptr;
  const CellResults* head = nullptr;
  std::vector<const LaunchRecord*> base_ok, head_ok;
};
Arms arms_of(const CellResults& base, const CellResults& head);

/// `value` of a path of keys ("memory", "phases"); nullptr when it is not there.
const Json* part_of(const Json& value, std::initializer_list<const char*> path);

/// nullopt: the launch has no such record.
using Reader = std::function<std::optional<Values>(const LaunchRecord&)>;

/// Means over the launches that have the record, a name that one of them lacks counting as 0; nullopt when none has.
std::optional<Values> means(const std::vector<const LaunchRecord*>& launches, const Reader& read);

/// Mean of a metric.
std::optional<double> mean_of(const std::vector<const LaunchRecord*>& launches, const std::string& metric);
/// Mean of head - mean of base.
std::optional<double> change_of(const Arms& arms, const std::string& metric);
/// Why a metric has no value in an arm: "base: REASON"; empty when both have one.
std::string absent_reason(const Arms& arms, const std::string& metric);

/// Steps of the traced pass; 0: there is none, or it cannot be trusted.
double traced_steps(const LaunchRecord& launch);

/// Totals of the traced pass per step, mean over the ranks; `keys`: name to show, key of "timeline.ranks" in the
/// record.
std::optional<Values> traced_parts(const LaunchRecord& launch,
                                   std::initializer_list<std::pair<const char*, const char*>> keys);

/// One line a name, with its share of `change` where that is known and not 0; the largest change first.
std::vector<WhyLine> lines_of(const Values& base, const Values& head, const std::string& unit,
                              std::optional<double> change);

/// Takes out lines whose two sides are equal but for rounding.
void drop_equal(std::vector<WhyLine>& lines);

/// "not recorded by base", "... by head", "... by either arm".
std::string not_recorded(bool base, bool head, const std::string& what);

}  // namespace stepgauge::verdict::detail
