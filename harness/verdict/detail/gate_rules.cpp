#include "verdict/detail/gate_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/hodges_lehmann.hpp"
#include "stats/multiple.hpp"
#include "stats/sign_flip.hpp"
#include "verdict/detail/wording.hpp"
#include "verdict/gate_power.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double rounding = 1e-12;  ///< of differences that are exact on paper

stats::Paired towards(Suspicion direction, stats::Paired sample) {
  if (direction == Suspicion::better) sample.mean = -sample.mean;
  return sample;
}

std::vector<double> towards(Suspicion direction, std::vector<double> differences) {
  if (direction == Suspicion::better) {
    for (auto& value : differences) value = -value;
  }
  return differences;
}

void settle(GateRow& row, Verdict verdict, std::string reason = "") {
  row.verdict = verdict;
  row.reason = std::move(reason);
}

/// The numbers of the stage that the verdict rests on.
void fill_numbers(GateRow& row, const GateSample& sample, GateStage stage, const GatePolicy& policy) {
  row.stage = stage;
  row.pairs = sample.paired.n;
  row.base = sample.base;
  row.head = sample.head;
  row.threshold = sample.threshold;
  row.exact = sample.exact;
  row.spread = sample.paired.sd;
  row.change = change_of(row, sample.paired.mean);
  const auto [lower, upper] = stats::paired_interval(sample.paired, policy.interval_confidence);
  const bool mirrored = row.better == Better::higher;
  row.ci_lower = change_of(row, mirrored ? upper : lower);
  row.ci_upper = change_of(row, mirrored ? lower : upper);
  row.worse_bound = size_of(row, stats::paired_upper_bound(sample.paired, policy.bound_confidence));
}

void judge_exact(GateRow& row, const GateSample& sample) {
  row.mde = sample.threshold;
  const double limit = sample.theta + rounding;
  if (sample.paired.mean > limit) return settle(row, Verdict::regressed);
  settle(row, sample.paired.mean < -limit ? Verdict::improved : Verdict::pass);
}

/// pass or inconclusive, by what the data could have shown.
void judge_absence(GateRow& row, const GateSample& sample, const GatePolicy& policy) {
  const double limit = policy.pass_limit * sample.theta;
  if (!row.gateable) {
    const auto seen = row.mde ? size_text(row, *row.mde) : "beyond all measure";
    return settle(
        row, Verdict::inconclusive,
        fmt::format("not gateable at {}: the pairs vary so much that the smallest change they would show is {}",
                    size_text(row, sample.threshold), seen));
  }
  if (stats::paired_upper_bound(sample.paired, policy.bound_confidence) < limit) return settle(row, Verdict::pass);
  settle(row, Verdict::inconclusive,
         row.worse_bound ? "may be " + size_text(row, *row.worse_bound) + " worse" : "may be worse by any factor");
}

/// Why the confirmation cannot be trusted; empty when it can.
std::string unstable_reason(const GateRow& row, const GateSample& sample, const GatePolicy& policy) {
  if ((*row.p < policy.alpha) != (*row.p_sign_flip < policy.alpha)) {
    return fmt::format("unstable: the t test has p = {:.2g} and the sign-flip test p = {:.2g}", *row.p,
                       *row.p_sign_flip);
  }
  const double centre = stats::hodges_lehmann(sample.worse);
  if (std::abs(centre - sample.paired.mean) <= policy.unstable_share * sample.theta) return "";
  return fmt::format("unstable: the mean change is {}, the median of the pairs' averages {}",
                     row.change ? change_text(row, *row.change) : "-",
                     row.hodges_lehmann ? change_text(row, *row.hodges_lehmann) : "-");
}

void judge_confirmed(GateRow& row, const GateSample& sample, const GatePolicy& policy) {
  if (sample.exact) return judge_exact(row, sample);
  if (const auto reason = unstable_reason(row, sample, policy); !reason.empty())
    return settle(row, Verdict::inconclusive, reason);
  const double estimate = towards(row.suspicion, sample.paired).mean;
  if (*row.p_adjusted < policy.alpha && estimate >= policy.estimate_share * sample.theta - rounding)
    return settle(row, row.suspicion == Suspicion::worse ? Verdict::regressed : Verdict::improved);
  judge_absence(row, sample, policy);
}

std::string not_confirmed_reason(const GateRow& row, const GateWork& item, const GatePolicy& policy) {
  const auto made = settled_pairs(*item.cell, GateStage::confirm, policy);
  auto out = fmt::format("the screen suspects {}; {} of {} confirming pairs were made", change_text(row, *row.change),
                         made, policy.confirm_pairs);
  if (made == policy.confirm_pairs) out += ", fewer than two of them have values";
  if (!item.cell->stopped.empty()) out += ": " + item.cell->stopped;
  return out;
}

/// p values of the rows under this suspicion; those without confirmation count in the family as 1.
std::size_t test_family(std::vector<GateRow>& rows, const std::vector<GateWork>& work, Suspicion direction,
                        const GatePolicy& policy) {
  std::vector<const GateWork*> family;
  std::vector<double> p_values;
  for (const auto& item : work) {
    auto& row = rows[item.row];
    if (row.suspicion != direction) continue;
    family.push_back(&item);
    if (!item.confirm) {
      p_values.push_back(1);
      continue;
    }
    const double null = policy.null_share * item.confirm->theta;
    row.p = stats::paired_p_above(towards(direction, item.confirm->paired), null);
    row.p_sign_flip = stats::sign_flip_p_above(towards(direction, item.confirm->worse), null, policy.seed);
    row.hodges_lehmann = change_of(row, stats::hodges_lehmann(item.confirm->worse));
    p_values.push_back(*row.p);
  }
  const auto adjusted = stats::holm_adjusted(p_values);
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (family[i]->confirm) rows[family[i]->row].p_adjusted = adjusted[i];
  }
  return family.size();
}

void judge_row(GateRow& row, const GateWork& item, std::size_t family, const GatePolicy& policy) {
  const bool screened = complete(*item.cell, GateStage::screen, policy);
  const auto& sample = item.confirm ? *item.confirm : item.screen;
  if (!sample.exact) {
    const GateOdds odds{sample.paired.sd, sample.theta};
    const auto pairs = item.confirm ? sample.paired.n : policy.confirm_pairs;
    row.mde = size_of(row, smallest_seen(odds, pairs, family, policy));
    row.gateable = is_gateable(odds, pairs, family, policy);
  }
  if (!screened) {
    const auto made = settled_pairs(*item.cell, GateStage::screen, policy);
    return settle(row, Verdict::inconclusive,
                  fmt::format("{} of {} screening pairs were made{}{}", made, policy.screen_pairs,
                              item.cell->stopped.empty() ? "" : ": ", item.cell->stopped));
  }
  if (item.confirm) return judge_confirmed(row, *item.confirm, policy);
  if (item.screen.exact) return judge_exact(row, item.screen);
  if (row.suspicion != Suspicion::none)
    return settle(row, Verdict::inconclusive, not_confirmed_reason(row, item, policy));
  judge_absence(row, item.screen, policy);
}

}  // namespace

Suspicion suspicion_of(const GateSample& screen, const GatePolicy& policy) {
  if (screen.exact) return Suspicion::none;  // the exact rule needs no confirmation
  for (const auto direction : {Suspicion::worse, Suspicion::better}) {
    const auto sample = towards(direction, screen.paired);
    if (sample.mean >= policy.screen_share * screen.theta - rounding &&
        stats::paired_p_above(sample, 0) < policy.screen_alpha)
      return direction;
  }
  return Suspicion::none;
}

std::size_t judge_rows(std::vector<GateRow>& rows, const std::vector<GateWork>& work, const GatePolicy& policy) {
  for (const auto& item : work) {
    auto& row = rows[item.row];
    if (complete(*item.cell, GateStage::screen, policy)) row.suspicion = suspicion_of(item.screen, policy);
    if (row.suspicion != Suspicion::none) row.p = stats::paired_p_above(towards(row.suspicion, item.screen.paired), 0);
    fill_numbers(row, item.confirm ? *item.confirm : item.screen, item.confirm ? GateStage::confirm : GateStage::screen,
                 policy);
  }
  const auto family = test_family(rows, work, Suspicion::worse, policy);
  test_family(rows, work, Suspicion::better, policy);
  for (const auto& item : work) judge_row(rows[item.row], item, family, policy);
  return family;
}

}  // namespace stepgauge::verdict::detail
