#include "verdict/detail/gate_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/multiple.hpp"
#include "stats/sign_test.hpp"
#include "stats/summary.hpp"
#include "verdict/detail/rounding.hpp"
#include "verdict/detail/wording.hpp"
#include "verdict/gate_power.hpp"

namespace stepgauge::verdict::detail {

void settle(GateRow& row, Verdict verdict, std::string reason) {
  row.verdict = verdict;
  row.reason = std::move(reason);
}

namespace {

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

/// New pairs that the MDE of a row is told for: those at the last look. A confirmation that ended early for want of
/// hope is taken as if it had gone on.
std::size_t planned_pairs(const GateWork& item, const GatePolicy& policy) {
  if (item.confirm && policy.looks.empty()) return item.confirm->paired.n;
  return std::max(policy.confirm_pairs, (item.confirm ? *item.confirm : item.screen).paired.n);
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
std::string unstable_reason(const GateRow& row, const GateTests& tests) {
  if (!tests.same_p) {
    return fmt::format("unstable: the t test has p = {:.2g} and the sign-flip test p = {:.2g}", tests.p,
                       tests.p_sign_flip);
  }
  if (tests.same_centre) return "";
  return fmt::format("unstable: the mean change is {}, the median of the pairs' averages {}",
                     row.change ? change_text(row, *row.change) : "-",
                     row.hodges_lehmann ? change_text(row, *row.hodges_lehmann) : "-");
}

void judge_confirmed(GateRow& row, const GateWork& item, const GatePolicy& policy) {
  const auto& sample = *item.confirm;
  if (sample.exact && item.progress.complete) return judge_exact(row, sample);
  if (sample.exact) {
    row.mde = sample.threshold;
    return judge_absence(row, sample, policy);
  }
  if (const auto reason = unstable_reason(row, item.progress.tests); !reason.empty())
    return settle(row, Verdict::inconclusive, reason);
  if (*row.p_adjusted < policy.alpha && item.progress.tests.large)
    return settle(row, row.suspicion == Suspicion::worse ? Verdict::regressed : Verdict::improved);
  judge_absence(row, sample, policy);
}

std::string not_confirmed_reason(const GateRow& row, const GateWork& item, const GatePolicy& policy) {
  const auto made = settled_pairs(*item.cell, GateStage::confirm, policy);
  auto out = fmt::format("the screen suspects {}; {} of {}{} confirming pairs were made", change_text(row, *row.change),
                         made, policy.looks.empty() ? "" : "at most ", policy.confirm_pairs);
  if (made == policy.confirm_pairs) out += ", fewer than two of them have values";
  if (!item.cell->stopped.empty()) out += ": " + item.cell->stopped;
  return out;
}

/// What the new pairs of the rows under suspicion say; those whose values cannot be compared are invalid.
void add_progress(std::vector<GateRow>& rows, std::vector<GateWork>& work, const GateFamily& family,
                  const GatePolicy& policy) {
  for (auto& item : work) {
    auto& row = rows[item.row];
    if (row.suspicion == Suspicion::none) continue;
    item.progress = progress_of(*item.cell, row, row.suspicion, family.of(row.suspicion), policy);
    row.looks = item.progress.looks;
    if (!item.progress.decided || !item.progress.sample) continue;
    item.confirm = item.progress.sample;
    if (item.confirm->exact) continue;
    row.p = item.progress.tests.p;
    row.p_sign_flip = item.progress.tests.p_sign_flip;
    row.hodges_lehmann = change_of(row, item.progress.tests.hodges_lehmann);
  }
}

/// Holm over the rows under this suspicion; those without confirmation count in the family as 1.
void adjust_family(std::vector<GateRow>& rows, const std::vector<GateWork>& work, Suspicion direction) {
  std::vector<const GateWork*> family;
  std::vector<double> p_values;
  for (const auto& item : work) {
    if (rows[item.row].suspicion != direction) continue;
    family.push_back(&item);
    p_values.push_back(item.confirm ? item.progress.p : 1);
  }
  const auto adjusted = stats::holm_adjusted(p_values);
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (family[i]->confirm) rows[family[i]->row].p_adjusted = adjusted[i];
  }
}

void judge_row(GateRow& row, const GateWork& item, std::size_t family, const GatePolicy& policy) {
  const auto& sample = item.confirm ? *item.confirm : item.screen;
  if (!sample.exact) {
    const GateOdds odds{sample.paired.sd, sample.theta};
    const auto pairs = planned_pairs(item, policy);
    row.mde = size_of(row, smallest_seen(odds, pairs, family, policy));
    row.gateable = is_gateable(odds, pairs, family, policy);
  }
  if (!item.progress.bad.empty()) return settle(row, Verdict::invalid, item.progress.bad);
  if (!screened(*item.cell, policy)) {
    const auto made = settled_pairs(*item.cell, GateStage::screen, policy);
    return settle(row, Verdict::inconclusive,
                  fmt::format("{} of {} screening pairs were made{}{}", made, policy.screen_pairs,
                              item.cell->stopped.empty() ? "" : ": ", item.cell->stopped));
  }
  if (item.confirm) return judge_confirmed(row, item, policy);
  if (item.screen.exact) return judge_exact(row, item.screen);
  if (row.suspicion != Suspicion::none)
    return settle(row, Verdict::inconclusive, not_confirmed_reason(row, item, policy));
  judge_absence(row, item.screen, policy);
}

}  // namespace

Suspicion suspicion_of(const GateSample& screen, const GatePolicy& policy) {
  if (screen.exact) return Suspicion::none;  // the exact rule needs no confirmation
  const double least = policy.screen_share * screen.theta - rounding;
  for (const auto direction : {Suspicion::worse, Suspicion::better}) {
    const auto sample = towards(direction, screen.paired);
    if (sample.mean >= least && stats::paired_p_above(sample, 0) < policy.screen_alpha) return direction;
  }
  if (!policy.screen_signs) return Suspicion::none;
  for (const auto direction : {Suspicion::worse, Suspicion::better}) {
    const auto worse = towards(direction, screen.worse);
    if (*stats::median(worse) >= least && stats::sign_test_p_above(worse) < policy.screen_alpha) return direction;
  }
  return Suspicion::none;
}

GateFamily suspect_rows(std::vector<GateRow>& rows, const std::vector<GateWork>& work, const GatePolicy& policy) {
  GateFamily out;
  for (const auto& item : work) {
    auto& row = rows[item.row];
    if (screened(*item.cell, policy)) row.suspicion = suspicion_of(item.screen, policy);
    out.worse += row.suspicion == Suspicion::worse;
    out.better += row.suspicion == Suspicion::better;
  }
  return out;
}

void judge_rows(std::vector<GateRow>& rows, std::vector<GateWork>& work, const GateFamily& family,
                const GatePolicy& policy) {
  for (const auto& item : work) {
    auto& row = rows[item.row];
    if (row.suspicion != Suspicion::none) row.p = stats::paired_p_above(towards(row.suspicion, item.screen.paired), 0);
  }
  add_progress(rows, work, family, policy);
  for (const auto& item : work) {
    fill_numbers(rows[item.row], item.confirm ? *item.confirm : item.screen,
                 item.confirm ? GateStage::confirm : GateStage::screen, policy);
  }
  for (const auto direction : {Suspicion::worse, Suspicion::better}) adjust_family(rows, work, direction);
  for (const auto& item : work) judge_row(rows[item.row], item, family.worse, policy);
}

}  // namespace stepgauge::verdict::detail
