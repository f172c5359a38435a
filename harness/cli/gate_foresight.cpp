#include "cli/gate_foresight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"
#include "store/calibration_file.hpp"

namespace stepgauge::cli {
namespace {

struct Expected {
  double seconds = 0;  ///< screen and what is suspected though nothing changed, on average
  double cells = 0;    ///< that are suspected
};

Expected expected(const verdict::Calibration& calibration, const GateFolder& folder, const GateBudget& budget) {
  const auto& setup = folder.setup();
  Expected out;
  for (std::size_t cell = 0; cell < setup.cells.size(); ++cell) {
    out.seconds += budget.pairs_seconds({cell}, setup.policy.screen_pairs);
    const auto known =
        std::find_if(calibration.cells.begin(), calibration.cells.end(),
                     [&](const verdict::CalibrationCellResult& one) { return one.id == setup.cells[cell].base; });
    if (known == calibration.cells.end() || !setup.cells[cell].unmatched.empty()) continue;
    out.cells += known->false_suspicion;
    out.seconds += known->false_suspicion * budget.pairs_seconds({cell}, setup.policy.confirm_pairs);
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
