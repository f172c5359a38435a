#include "verdict/detail/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/mde.hpp"
#include "stats/multiple.hpp"
#include "verdict/detail/rounding.hpp"
#include "verdict/detail/wording.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double null_share = 0.25;  ///< H0: worse by at most this share of theta
constexpr double pass_limit = 2.0;   ///< pass: the bound is below this many theta

/// Launches per side that would settle a row, for a spread given in thetas; spreads are rounded to two digits, so that
/// the search runs once for many rows.
class LaunchPlanner {
 public:
  explicit LaunchPlanner(double alpha, double power) : alpha_(alpha), power_(power) {}

  std::optional<std::size_t> launches_needed(double sd_in_thetas) {
    if (!(sd_in_thetas > 0) || !std::isfinite(sd_in_thetas)) return std::nullopt;
    const double unit = std::pow(10.0, std::floor(std::log10(sd_in_thetas)) - 1);
    const double rounded = std::ceil(sd_in_thetas / unit) * unit;
    const auto known = cache_.find(rounded);
    if (known != cache_.end()) return known->second;
    const auto n = stats::launches_needed(rounded, pass_limit, {alpha_, power_, null_share});
    return cache_.emplace(rounded, n).first->second;
  }

 private:
  double alpha_, power_;
  std::map<double, std::optional<std::size_t>> cache_;
};

double as_change(const Row& row, double diff) {
  return row.scale == Scale::ratio ? std::expm1(diff) : diff;
}

/// A bound beyond the range of numbers is no bound.
std::optional<double> finite_change(const Row& row, double diff) {
  const double change = as_change(row, diff);
  return std::isfinite(change) ? std::optional(change) : std::nullopt;
}

/// Standard deviation between launches on the row's scale, from the standard error or, with one launch on a side, from
/// the other side.
std::optional<double> spread(const Row& row, const stats::TwoSample& sample) {
  if (sample.standard_error) {
    return *sample.standard_error /
           std::sqrt(1.0 / static_cast<double>(sample.n_base) + 1.0 / static_cast<double>(sample.n_head));
  }
  const auto& side = row.base.cv ? row.base : row.head;
  if (!side.cv || !side.mean) return std::nullopt;
  return row.scale == Scale::ratio ? *side.cv : *side.cv * std::abs(*side.mean);
}

std::string inconclusive_reason(const Row& row, const Measured& item, LaunchPlanner& planner) {
  std::string out;
  if (row.base.n < 2 || row.head.n < 2) {
    out = fmt::format("{} on base and {} on head, at least 2 launches per side are needed", row.base.n, row.head.n);
  } else if (row.worse_bound) {
    out = fmt::format("may be {} worse", size_text(row, *row.worse_bound));
  } else {
    out = "may be worse by any factor";
  }
  if (row.base_sessions > 1) return out + "; more sessions in the baseline narrow the interval";
  const auto sd = spread(row, item.worse);
  if (!sd || *sd == 0 || item.theta <= 0) return out;
  const auto limit = size_text(row, as_change(row, pass_limit * item.theta));
  const auto n = planner.launches_needed(*sd / item.theta);
  if (!n) return out + fmt::format("; needs more than 1000 launches per side to see {}", limit);
  if (*n > std::min(row.base.n, row.head.n)) {
    return out + fmt::format("; needs about {} launches per side to see {}", *n, limit);
  }
  return out + fmt::format("; the change itself is near the limit of {}", limit);
}

Verdict verdict_of_exact(double worse, double theta) {
  const double limit = theta + rounding;
  if (worse > limit) return Verdict::regressed;
  return worse < -limit ? Verdict::improved : Verdict::pass;
}

struct Adjusted {
  double worse = 1, better = 1;
};

Verdict verdict_of_test(const Measured& item, const Adjusted& p, double bound, double alpha) {
  const double limit = item.theta - rounding;
  if (p.worse < alpha && item.worse.diff >= limit) return Verdict::regressed;
  if (p.better < alpha && -item.worse.diff >= limit) return Verdict::improved;
  return bound < pass_limit * item.theta ? Verdict::pass : Verdict::inconclusive;
}

void judge_one(Row& row, const Measured& item, const Adjusted& p, double alpha, const stats::TestPlan& plan,
               LaunchPlanner& planner) {
  if (row.exact) {
    row.verdict = verdict_of_exact(item.worse.diff, item.theta);
    row.mde = row.threshold;
    row.worse_bound = finite_change(row, item.worse.diff);
    return;
  }
  const auto bound = stats::confidence_interval(item.worse, 1 - 2 * alpha);
  if (!bound) {
    row.verdict = Verdict::inconclusive;
  } else {
    const auto mde = stats::minimum_detectable_effect(item.worse, {plan.alpha, plan.power, null_share * item.theta});
    if (mde) row.mde = finite_change(row, std::max(*mde, item.theta));
    row.worse_bound = finite_change(row, bound->upper);
    row.verdict = verdict_of_test(item, p, bound->upper, alpha);
  }
  if (row.verdict == Verdict::inconclusive) row.reason = inconclusive_reason(row, item, planner);
}

void judge_family(std::vector<Row>& rows, const std::vector<const Measured*>& family, const Policy& policy) {
  std::vector<double> worse, better;
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < family.size(); ++i) {
    const double null = null_share * family[i]->theta;
    const auto p = stats::p_greater(family[i]->worse, null);
    if (!p) continue;
    rows[family[i]->row].p = *p;
    worse.push_back(*p);
    better.push_back(*stats::p_greater(stats::mirrored(family[i]->worse), null));
    tested.push_back(i);
  }
  const auto worse_adjusted = stats::holm_adjusted(worse);
  const auto better_adjusted = stats::holm_adjusted(better);
  std::vector<Adjusted> adjusted(family.size());
  for (std::size_t t = 0; t < tested.size(); ++t) {
    adjusted[tested[t]] = {worse_adjusted[t], better_adjusted[t]};
    rows[family[tested[t]]->row].p_adjusted = worse_adjusted[t];
  }
  const double strict = policy.alpha / static_cast<double>(std::max<std::size_t>(1, tested.size()));
  const stats::TestPlan plan{strict, policy.power, 0};
  LaunchPlanner planner(strict, policy.power);
  for (std::size_t i = 0; i < family.size(); ++i) {
    judge_one(rows[family[i]->row], *family[i], adjusted[i], policy.alpha, plan, planner);
  }
}

}  // namespace

void judge(std::vector<Row>& rows, const std::vector<Measured>& measured, const Policy& policy) {
  std::vector<const Measured*> blocking, advisory;
  for (const auto& item : measured) (rows[item.row].blocking ? blocking : advisory).push_back(&item);
  judge_family(rows, blocking, policy);
  judge_family(rows, advisory, policy);
}

void require_history(std::vector<Row>& rows) {
  for (auto& row : rows) {
    if (row.base_sessions == 0 || row.verdict != Verdict::regressed) continue;
    if (row.base_sessions >= least_sessions && row.base.n >= least_baseline_launches) continue;
    row.verdict = Verdict::inconclusive;
    row.reason = fmt::format(
        "worse by {}, but the baseline has {} of {} sessions and {} of {} launches: it shows and does not block; "
        "`stepgauge gate` decides side by side",
        row.change ? size_text(row, *row.change) : "more than the tolerance", row.base_sessions, least_sessions,
        row.base.n, least_baseline_launches);
  }
}

}  // namespace stepgauge::verdict::detail
