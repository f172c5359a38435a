#include "verdict/detail/gate_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/summary.hpp"

namespace stepgauge::verdict::detail {
namespace {

bool all_equal(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string bad_values(const PairedValues& values, Scale scale) {
  const auto find = [&](const std::vector<double>& numbers) {
    return std::find_if(numbers.begin(), numbers.end(), [&](double value) { return !usable(value, scale); });
  };
  if (const auto bad = find(values.base); bad != values.base.end())
    return fmt::format("cannot compare: base has a value of {}", *bad);
  if (const auto bad = find(values.head); bad != values.head.end())
    return fmt::format("cannot compare: head has a value of {}", *bad);
  return values.other_unit.empty() ? "" : fmt::format("units differ: {} and {}", values.unit, values.other_unit);
}

bool usable(double value, Scale scale) {
  return std::isfinite(value) && (scale == Scale::points || value > 0);
}

std::optional<GateSample> sample_of(const PairedValues& values, const GateRow& row) {
  if (values.base.size() < 2) return std::nullopt;
  const bool ratio = row.scale == Scale::ratio;
  const double sign = row.better == Better::higher ? -1 : 1;
  GateSample out;
  for (std::size_t i = 0; i < values.base.size(); ++i) {
    const double base = values.base[i], head = values.head[i];
    out.worse.push_back(sign * (ratio ? std::log(head) - std::log(base) : head - base));
  }
  out.paired = *stats::paired(out.worse);
  out.base = ratio ? *stats::geometric_mean(values.base) : *stats::mean(values.base);
  out.head = ratio ? *stats::geometric_mean(values.head) : *stats::mean(values.head);
  out.threshold =
      ratio ? std::max(row.tolerance, row.floor / out.base) : std::max(row.tolerance * std::abs(out.base), row.floor);
  out.theta = ratio ? std::log1p(out.threshold) : out.threshold;
  const bool even_base = all_equal(values.base), even_head = all_equal(values.head);
  out.exact = even_base && even_head;
  out.uneven = even_base != even_head;
  return out;
}

std::optional<double> change_of(const GateRow& row, double worse) {
  const double diff = row.better == Better::higher ? -worse : worse;
  return finite(row.scale == Scale::ratio ? std::expm1(diff) : diff);
}

std::optional<double> size_of(const GateRow& row, double worse) {
  return finite(row.scale == Scale::ratio ? std::expm1(worse) : worse);
}

}  // namespace stepgauge::verdict::detail
