#include "replay/detail/growth.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "replay/wording.hpp"

namespace stepgauge::replay::detail {
namespace {

constexpr std::size_t longest_period = 1024;
constexpr std::size_t window = 1 << 14;  ///< calls that a period is looked for in
constexpr std::size_t fewest_periods = 3;
constexpr double repeated_share = 0.5;  ///< of the calls that must be the same again
constexpr double nearly = 0.02;         ///< a shorter period is taken when it is as good but for this
constexpr std::size_t fewest_rises = 4;
constexpr std::size_t fewest_unrepeated = 8;  ///< sizes in a row, where no call repeats

struct Step {
  std::size_t column;
  const Op* op;
};

bool same_place(const Op& a, const Op& b) {
  return a.kind == b.kind && a.call_site == b.call_site;
}

/// Shortest period under which at least the share of calls is the same again; 0 where there is none.
template <typename Same>
std::size_t period_of(const std::vector<Step>& steps, double share, Same&& same) {
  const auto count = std::min(steps.size(), window);
  std::vector<double> shares(1, 0);
  for (std::size_t period = 1; period <= std::min(longest_period, count / fewest_periods); ++period) {
    std::size_t repeated = 0;
    for (std::size_t i = period; i < count; ++i) repeated += same(*steps[i].op, *steps[i - period].op) ? 1u : 0u;
    shares.push_back(static_cast<double>(repeated) / static_cast<double>(count - period));
  }
  const auto best = *std::max_element(shares.begin(), shares.end());
  if (best < share) return 0;
  return static_cast<std::size_t>(
      std::find_if(shares.begin(), shares.end(), [&](double value) { return value >= best - nearly; }) -
      shares.begin());
}

/// Of the calls at one place of the steps: where growth begins, or the number of calls.
std::size_t growth_in(const std::vector<Step>& calls, double factor, std::size_t fewest) {
  const auto bytes = [&](std::size_t i) { return static_cast<double>(calls[i].op->bytes); };
  std::size_t first = calls.size(), jumps = 0, rises = 0, rise_begin = 0;
  if (calls.size() < fewest) return calls.size();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    if (!same_place(*calls[i].op, *calls[i - 1].op) || bytes(i) < bytes(i - 1)) {  // it falls again: no growth
      jumps = rises = 0;
      first = calls.size();
      continue;
    }
    if (bytes(i) == bytes(i - 1)) {
      rises = 0;
      continue;
    }
    if (rises++ == 0) rise_begin = i;
    const bool jump = bytes(i - 1) > 0 && bytes(i) >= factor * bytes(i - 1);
    if (jump && jumps++ == 0) first = std::min(first, i);
    if (rises >= fewest_rises && bytes(i) >= factor * bytes(rise_begin - 1)) first = std::min(first, rise_begin);
  }
  const bool risen = first < calls.size() && (jumps >= 2 || bytes(calls.size() - 1) >= factor * bytes(first - 1));
  const bool enough = risen && calls.size() - (first - 1) >= fewest;  // sizes in a row without a fall
  return enough && (jumps >= 2 || rises >= fewest_rises) ? first : calls.size();
}

}  // namespace

void find_growth(const Group& group, const CollectiveLog& log, const Columns& columns, const PatternSettings& settings,
                 Findings& out) {
  // What sets a run up is no step: parameters are broadcast in all sizes.
  std::vector<Step> steps;
  for (std::size_t i = 0; i < columns.columns.size(); ++i) {
    const auto& op = log.ops[columns.columns[i].op];
    const bool step = op.bytes != not_known && op.bytes > 0 && !is_setup(op.call_site) && op.kind != Kind::broadcast;
    if (step) steps.push_back({i, &op});
  }
  auto period =
      period_of(steps, repeated_share, [](const Op& a, const Op& b) { return same_place(a, b) && a.bytes == b.bytes; });
  std::size_t fewest = fewest_periods;
  if (period == 0) {
    period = period_of(steps, 1, same_place);
    fewest = fewest_unrepeated;
  }
  for (std::size_t place = 0; place < period; ++place) {
    std::vector<Step> calls;
    for (auto i = place; i < steps.size(); i += period) calls.push_back(steps[i]);
    const auto at = growth_in(calls, settings.growth, fewest);
    if (at == calls.size()) continue;
    const auto& from = calls[at - 1];
    const auto& first = calls[at];
    const auto& last = calls.back();
    const auto ratio = static_cast<double>(last.op->bytes) / static_cast<double>(from.op->bytes);
    const auto& column = columns.columns[first.column];
    const auto site = first.op->call_site.empty() ? "" : fmt::format(" of {}", first.op->call_site);
    out.patterns.push_back(
        {PatternKind::growth,
         {},
         group.name,
         column.sequence,
         column.op,
         static_cast<std::int64_t>(calls.size() - at),
         ratio,
         fmt::format("the {}{}{} grows from {} on: {} before, {} in the end (x{:.1f}), on every rank",
                     to_string(first.op->kind), site, group_text(group, log), column.sequence,
                     size_text(from.op->bytes), size_text(last.op->bytes), ratio)});
  }
}

}  // namespace stepgauge::replay::detail
