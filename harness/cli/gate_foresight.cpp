#include "cli/gate_foresight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"
#include "store/calibration_file.hpp"
#include "verdict/gate_length.hpp"

namespace stepgauge::cli {
namespace {

struct Expected {
  double seconds = 0;  ///< screen and what is suspected though nothing changed, on average
  double cells = 0;    ///< that are suspected
};

/// New pairs that the cell's noisiest row takes on average, of those that can be gated, when a change of so many
/// thresholds is true; nullopt where the calibration knows none.
std::optional<double> new_pairs_of(const std::string& cell, double thresholds, const verdict::Calibration& calibration,
                                   const verdict::GatePolicy& policy) {
  std::optional<double> out;
  for (const auto& row : calibration.rows) {
    if (row.cell != cell || !row.blocking || !row.measured || !row.gateable || row.exact) continue;
    const double theta = row.scale == Scale::ratio ? std::log1p(*row.threshold) : *row.threshold;
    out = std::max(out.value_or(0), verdict::expected_new_pairs(thresholds * theta, {*row.spread, theta}, 1, policy));
  }
  return out;
}

Expected expected(const verdict::Calibration& calibration, const GateFolder& folder, const GateBudget& budget) {
  const auto& setup = folder.setup();
  Expected out;
  for (std::size_t cell = 0; cell < setup.cells.size(); ++cell) {
    out.seconds += screen_seconds(folder, budget, cell, setup.policy.screen_pairs);
    const auto known =
        std::find_if(calibration.cells.begin(), calibration.cells.end(),
                     [&](const verdict::CalibrationCellResult& one) { return one.id == setup.cells[cell].base; });
    if (known == calibration.cells.end() || !setup.cells[cell].unmatched.empty()) continue;
    out.cells += known->false_suspicion;
    const double pairs =
        new_pairs_of(known->id, 0, calibration, setup.policy).value_or(static_cast<double>(setup.policy.confirm_pairs));
    out.seconds += known->false_suspicion * pairs * budget.pair_seconds(cell);
  }
  return out;
}

}  // namespace

std::optional<verdict::Calibration> foresee(const GateFolder& folder, const verdict::GatePolicy& policy,
                                            const std::filesystem::path& baselines) {
  const auto& info = folder.arm(false).info();
  std::vector<CalibrationSession> sessions;
  try {
    sessions = store::find_calibrations(info.fingerprint, info.suite, baselines);
  } catch (const ContractError& error) {
    fmt::print(stderr, "stepgauge: the calibration is not used: {}\n", report::printable(error.what()));
  }
  if (sessions.empty()) return std::nullopt;
  verdict::GateWish wish;
  wish.gate = policy;
  auto out = verdict::judge_calibration(info.cells, sessions, wish);
  const auto known = [](const verdict::CalibrationCellResult& cell) { return cell.measured; };
  if (std::none_of(out.cells.begin(), out.cells.end(), known)) return std::nullopt;
  return out;
}

void expect_new_pairs(const std::optional<verdict::Calibration>& calibration, const GateFolder& folder,
                      GateBudget& budget) {
  const auto& setup = folder.setup();
  const double typical = verdict::expected_new_pairs(1, {verdict::typical_spread_share, 1}, 1, setup.policy);
  std::vector<double> pairs;
  std::size_t known = 0;
  for (const auto& match : setup.cells) {
    const auto own = calibration ? new_pairs_of(match.base, 1, *calibration, setup.policy) : std::nullopt;
    known += own.has_value();
    pairs.push_back(own.value_or(typical));
  }
  const auto guess = fmt::format("typical, where pairs differ by {:.0f} % of it", 100 * verdict::typical_spread_share);
  budget.expect_new_pairs(std::move(pairs), known == 0 ? guess
                                            : known == setup.cells.size()
                                                ? std::string("by the calibration")
                                                : "by the calibration; where there is none " + guess);
}

void tell_foresight(const verdict::Calibration& calibration, const GateFolder& folder, const GateBudget& budget,
                    bool quiet) {
  const auto date = calibration.last_measured_at.substr(0, 10);
  if (calibration.not_gateable > 0) {
    fmt::print(stderr,
               "stepgauge: by the calibration of {} {} of {} rows cannot be gated here with {} new pairs; they will be "
               "inconclusive unless the machine is quieter now:\n",
               date, calibration.not_gateable, calibration.gateable + calibration.not_gateable,
               folder.setup().policy.confirm_pairs);
    for (const auto& row : calibration.rows) {
      if (row.blocking && row.measured && !row.gateable)
        fmt::print(stderr, "  {} {}: {}\n", report::printable(row.cell), row.metric, report::printable(row.reason));
    }
  }
  const auto unknown = std::count_if(calibration.cells.begin(), calibration.cells.end(),
                                     [](const verdict::CalibrationCellResult& cell) { return !cell.measured; });
  const auto cost = expected(calibration, folder, budget);
  const auto limit = budget.limit_s();
  const bool short_of_time = limit && cost.seconds > *limit;
  if (quiet && !short_of_time) return;
  fmt::print(
      stderr,
      "stepgauge: by the calibration of {} the screen suspects {:.1f} cells on average though nothing changed: about "
      "{} in all",
      date, cost.cells, duration_text(cost.seconds));
  if (short_of_time)
    fmt::print(stderr, ", more than the budget of {}; --budget {:.0f}m would do", duration_text(*limit),
               std::ceil(cost.seconds / 60));
  if (unknown > 0) fmt::print(stderr, "; {} of {} cells were never calibrated", unknown, calibration.cells.size());
  fmt::print(stderr, "\n");
}

}  // namespace stepgauge::cli
