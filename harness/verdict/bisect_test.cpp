#include "verdict/bisect_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "stats/paired.hpp"
#include "stats/sign_flip.hpp"
#include "verdict/detail/gate_rows.hpp"
#include "verdict/detail/gate_sample.hpp"
#include "verdict/detail/gate_tries.hpp"
#include "verdict/detail/rounding.hpp"
#include "verdict/detail/wording.hpp"

namespace stepgauge::verdict {
namespace {

using detail::rounding;

BisectTest settled(BisectAnswer answer, std::string reason) {
  BisectTest out;
  out.answer = answer;
  out.reason = std::move(reason);
  return out;
}

std::string failed_text(const detail::Failures& count) {
  return fmt::format("head fails in {} of {} launches{}{}, base in {} of {}", count.head_failed, count.head_launches,
                     count.head_first.empty() ? "" : ", first: ", count.head_first, count.base_failed,
                     count.base_launches);
}

BisectTest test_launches(const GateCell& cell, const GatePolicy& policy) {
  const auto count = detail::failures(cell, GateStage::screen);
  BisectTest out;
  out.pairs = count.head_launches;
  out.reason = failed_text(count);
  if (detail::head_fails(count, policy)) {
    out.answer = BisectAnswer::different;
  } else if (count.head_failed + count.base_failed == 0 && count.head_launches > 0) {
    out.answer = BisectAnswer::same;
  }
  return out;
}

GateRow row_of(const GateCell& cell, const std::string& metric, const BisectPolicy& policy) {
  const auto* info = find_metric(metric);
  if (info == nullptr || info->better == Better::neither)
    throw std::invalid_argument(fmt::format("metric \"{}\" has no better and worse", metric));
  auto row = detail::metric_row(cell, *info);
  if (!policy.tolerance) return row;
  row.tolerance = row.scale == Scale::ratio ? *policy.tolerance : 0;
  row.floor = row.scale == Scale::ratio ? 0 : *policy.tolerance;
  return row;
}

void fill(const detail::GateSample& sample, const GateRow& row, double confidence, BisectTest& out) {
  out.pairs = sample.paired.n;
  out.change = detail::change_of(row, sample.paired.mean);
  const auto [lower, upper] = stats::paired_interval(sample.paired, confidence);
  const bool mirrored = row.better == Better::higher;
  out.ci_lower = detail::change_of(row, mirrored ? upper : lower);
  out.ci_upper = detail::change_of(row, mirrored ? lower : upper);
}

void decide(const detail::GateSample& sample, const GateRow& row, const GatePolicy& gate, std::size_t looks,
            BisectTest& out) {
  auto differences = sample.worse;
  if (out.direction == BisectDirection::better) {
    for (auto& value : differences) value = -value;
  }
  const auto paired = *stats::paired(differences);
  if (sample.exact) {
    out.answer = paired.mean > sample.theta + rounding ? BisectAnswer::different : BisectAnswer::same;
    out.reason = "no spread in either arm";
    return;
  }
  const double shared = static_cast<double>(looks), alpha = gate.alpha / shared;
  const double null = gate.null_share * sample.theta, limit = gate.estimate_share * sample.theta;
  out.p = stats::paired_p_above(paired, null);
  const double flipped = stats::sign_flip_p_above(differences, null, gate.seed);
  const double bound = stats::paired_upper_bound(paired, 1 - (1 - gate.bound_confidence) / shared);
  out.bound = detail::size_of(row, bound);
  if (*out.p < alpha && flipped < alpha && paired.mean >= limit - rounding) {
    out.answer = BisectAnswer::different;
  } else if (bound < limit) {
    out.answer = BisectAnswer::same;
    if (paired.mean < -sample.theta)
      out.reason = fmt::format("not {}: it changes the other way", to_string(out.direction));
  } else {
    out.reason = fmt::format("{} with {} pairs: neither shown to be {} nor to be the same at {}",
                             out.change ? detail::change_text(row, *out.change) : "a change beyond numbers", paired.n,
                             to_string(out.direction), detail::size_text(row, sample.threshold));
  }
}

}  // namespace

std::size_t BisectPolicy::looks() const {
  std::size_t out = 1;
  for (auto pairs = first_pairs; pairs < most_pairs; pairs *= 2) ++out;
  return out;
}

std::string_view to_string(BisectDirection direction) {
  return direction == BisectDirection::worse ? "worse" : "better";
}

GatePolicy gate_policy(const BisectPolicy& policy) {
  GatePolicy out;
  out.screen_pairs = policy.most_pairs;
  out.confirm_pairs = least_confirm_pairs;
  out.seed = policy.seed;
  return out;
}

BisectTest bisect_test(const GateCell& cell, const std::string& metric, std::optional<BisectDirection> direction,
                       const BisectPolicy& policy) {
  const auto gate = gate_policy(policy);
  if (!cell.unmatched.empty()) return settled(BisectAnswer::skipped, cell.unmatched);
  if (const auto reason = detail::gave_up_reason(cell, gate); !reason.empty())
    return settled(BisectAnswer::skipped, reason);
  if (metric == launches_row) return test_launches(cell, gate);
  auto row = row_of(cell, metric, policy);
  const auto values = detail::paired_values(cell, GateStage::screen, metric, gate);
  row.unit = values.unit;
  const auto count = detail::failures(cell, GateStage::screen);
  if (!values.any_head || !values.any_base) {
    const auto& absent = values.any_base ? values.absent_head : values.absent_base;
    return settled(BisectAnswer::skipped,
                   fmt::format("{} has no value of {}: {}", values.any_base ? "it" : "the good end", metric,
                               absent.empty() ? failed_text(count) : absent));
  }
  for (const auto* side : {&values.base, &values.head}) {
    if (std::any_of(side->begin(), side->end(), [&](double value) { return !detail::usable(value, row.scale); }))
      return settled(BisectAnswer::skipped, fmt::format("a value of {} cannot be compared", metric));
  }
  const auto sample = detail::sample_of(values, row);
  if (!sample) {
    auto out = settled(BisectAnswer::unknown, "fewer than two pairs have a value on both sides; " + failed_text(count));
    out.pairs = values.base.size();
    return out;
  }
  BisectTest out;
  out.direction = direction.value_or(sample->paired.mean < 0 ? BisectDirection::better : BisectDirection::worse);
  fill(*sample, row, gate.interval_confidence, out);
  decide(*sample, row, gate, policy.looks(), out);
  return out;
}

}  // namespace stepgauge::verdict
