#pragma once
// What A/A sessions on a machine say of its noise, per cell and metric, and what a gate could see there. Values in,
// rows out; docs/calibrate.md has the words.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/calibration_session.hpp"
#include "contract/metrics.hpp"
#include "contract/status.hpp"
#include "verdict/gate_policy.hpp"
#include "verdict/gate_power.hpp"

namespace stepgauge::verdict {

inline constexpr int calibration_version = 1;

/// Fewest launches of a cell whose spread is more than a guess; fewer: the cell was not measured.
inline constexpr std::size_t least_launches = 5;

/// A row whose drift_z is below it drifts: 1 % of those that do not are taken for it.
inline constexpr double drift_limit = -2.326;

/// What is asked of the gate that is planned.
struct GateWish {
  GatePolicy gate;
  double power = 0.8;                          ///< of finding a change of the threshold, over both stages
  std::size_t family = 1;                      ///< rows under suspicion at once: Holm divides alpha by it
  std::size_t most_pairs = 60;                 ///< in all, that a search for `needed` may take
  bool fixed_pairs = false;                    ///< the question is what gate.screen_pairs + gate.confirm_pairs find
  std::optional<double> tolerance{};           ///< relative; in place of every judged ratio metric's own
  std::map<std::string, double> tolerances{};  ///< metric -> relative tolerance; goes before `tolerance`
};

/// Spreads are standard deviations on the scale of the analysis: ln (about a fraction) or the unit.
struct CalibrationRow {
  std::string cell, metric, unit;
  Better better = Better::lower;
  Scale scale = Scale::ratio;
  bool blocking = false;

  std::size_t launches = 0, sessions = 0;
  std::optional<double> level;              ///< mean over the launches; geometric on the ratio scale
  std::optional<double> between;            ///< of launch values within their session, plain, the steps' noise in it
  std::optional<double> sigma_session;      ///< sigma_S; two sessions or more
  std::optional<double> sigma_launch;       ///< sigma_L, the steps' share taken out
  std::optional<double> sigma_step;         ///< sigma_W of one step; throughput and step_time, where there are samples
  std::optional<double> inflation;          ///< f
  std::optional<double> steps;              ///< a launch, mean
  std::optional<std::size_t> steps_needed;  ///< for their noise to be at most a quarter of the launches'
  std::optional<double> spread;             ///< s_d: of the difference of two launches in succession, as a gate's pair
  std::optional<double> spread_df;
  std::optional<double> successive_ratio;  ///< spread^2 / (2 between^2): less than 1 where launches drift
  std::optional<double> drift_z;           ///< of it, standard normal without drift
  std::optional<double> lag1;              ///< lag-1 correlation of the launch values, mean over sessions

  double tolerance = 0, floor = 0;
  std::optional<double> threshold;        ///< max(tolerance, floor / level), as a change
  std::optional<double> mde;              ///< of the confirmation at the wished plan, as a change
  std::optional<double> least_tolerance;  ///< smallest that is gateable there (MDE within 2 thresholds)
  std::optional<double> power;            ///< chance that the wished plan finds a change of the threshold
  std::optional<double>
      false_suspicion;              ///< chance that its screen suspects the row, either way, though nothing changed
  std::optional<GatePairs> needed;  ///< pairs that find it with the wished power; nullopt: more than most_pairs
  bool exact = false;               ///< no spread at all
  bool measured = false;            ///< the numbers above are there
  bool gateable = false;
  std::string reason;  ///< why not measured, or not gateable
};

/// The wish is met: gateable, and a change of the threshold is found with the wished power, by the fixed pairs or
/// within most_pairs.
bool is_found(const CalibrationRow& row, const GateWish& wish);

struct CalibrationCellResult {
  std::string id;
  std::size_t launches = 0;                     ///< ok ones, over the sessions
  std::map<std::string, std::size_t> statuses;  ///< of all
  std::optional<double> launch_s;               ///< seconds a launch, mean; nullopt when none was made
  std::size_t sessions = 0;
  double false_suspicion = 0;  ///< chance that the screen suspects a row, either way, though nothing changed; as if the
                               ///< metrics were independent
  bool measured = false;       ///< least_launches ok ones at least
  std::string reason;          ///< why not
};

struct CalibrationTotals {
  double screen_s = 0;    ///< the wished screening pairs of every measured cell
  double confirm_s = 0;   ///< the wished confirming pairs of every measured cell
  double expected_s = 0;  ///< screen and what is suspected though nothing changed, on average
};

struct Calibration {
  std::vector<CalibrationCellResult> cells;  ///< in the order asked for
  std::vector<CalibrationRow> rows;          ///< of cells in that order
  std::size_t sessions = 0, days = 0;        ///< days: different dates of measurement
  std::vector<std::string> commits;          ///< different ones, in order of the sessions
  std::string first_measured_at, last_measured_at;
  std::size_t gateable = 0, not_gateable = 0, not_measured = 0;  ///< of the blocking rows
  std::optional<GatePairs> suggested;  ///< the most that a gateable blocking row needs; nullopt when none has any
  CalibrationTotals totals;
  std::vector<std::string> notes;
};

/// Judges the cells by the sessions that hold them (by identity). Metrics with a direction, the catalogue's order.
Calibration judge_calibration(const std::vector<Cell>& cells, const std::vector<CalibrationSession>& sessions,
                              const GateWish& wish);

}  // namespace stepgauge::verdict
