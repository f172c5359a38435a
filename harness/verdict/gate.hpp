#pragma once
// The gate: pairs of launches of base and head, made side by side, screened and then confirmed on new launches. Values
// in, verdicts out; which launches are made is the caller's business.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/metrics.hpp"
#include "contract/record.hpp"
#include "verdict/comparison.hpp"
#include "verdict/gate_policy.hpp"

namespace stepgauge::verdict {

inline constexpr int gate_version = 1;

enum class GateStage { screen, confirm };
std::string_view to_string(GateStage stage);

/// What a launch says of its program.
enum class LaunchUse {
  ok,
  failed,   ///< the program's doing: crashed, hung, out of memory, wrong results, ...
  outside,  ///< nothing: spoilt by what else ran on the machine, by rules fixed beforehand
};

struct GateLaunch {
  LaunchUse use = LaunchUse::ok;
  std::string what;  ///< "crashed: REASON"; empty when ok
  std::map<std::string, MetricValue> metrics;
};

/// Both launches of one try at a pair. A try that was spoilt from outside is followed by another one.
struct GateTry {
  GateStage stage = GateStage::screen;
  int pair = 0;  ///< counts from 0 over both stages: confirmation begins at screen_pairs
  GateLaunch base, head;
  std::string spoilt;  ///< why the two cannot be compared although each may be ok: clocks that changed between them
};

/// A cell of the suite in both arms, and what was measured of it so far.
struct GateCell {
  Cell base, head;
  std::vector<GateTry> tries;  ///< in the order in which they were made
  std::string unmatched;       ///< the cell is in one arm only: why; it is not measured
  std::string stopped;         ///< why the measurement ended early ("the budget is used up"); empty: it did not
};

enum class PairState {
  open,     ///< to be made, or to be made again
  settled,  ///< both launches say something
  gave_up,  ///< spoilt in every try
};
PairState pair_state(const GateCell& cell, int pair, const GatePolicy& policy);

/// What the screen suspects of a row.
enum class Suspicion { none, worse, better };

struct GateRow {
  std::string cell;       ///< id in head
  std::string base_cell;  ///< id in base where it is another
  std::string metric, unit;
  Better better = Better::lower;
  Scale scale = Scale::ratio;
  bool perturbed = false;  ///< an arm is slowed on purpose

  GateStage stage = GateStage::screen;  ///< whose data the numbers are of
  Suspicion suspicion = Suspicion::none;
  std::size_t pairs = 0;                     ///< with a value on both sides
  std::optional<double> base, head;          ///< means over the pairs; geometric on the ratio scale
  std::optional<double> change;              ///< head / base - 1, or head - base
  std::optional<double> ci_lower, ci_upper;  ///< 95 % interval of it
  std::optional<double> spread;  ///< standard deviation of the pairs' differences, ln or the unit: s_d of the design
  double tolerance = 0, floor = 0;
  std::optional<double> threshold;       ///< max(tolerance, floor / base), what counts as a change
  std::optional<double> mde;             ///< smallest change for the worse that would have been found (power 80 %)
  std::optional<double> worse_bound;     ///< one-sided 90 % bound of the change for the worse
  std::optional<double> p;               ///< of the stage's test, in the direction of the suspicion
  std::optional<double> p_adjusted;      ///< confirmation: Holm over the rows under suspicion, of p over the looks
  std::optional<double> p_sign_flip;     ///< confirmation: the randomisation test of the same hypothesis
  std::optional<double> hodges_lehmann;  ///< confirmation: change by the Hodges-Lehmann estimate
  std::size_t looks = 0;                 ///< confirmation: looks taken at its pairs
  bool exact = false;                    ///< no spread in either arm: no test was needed
  bool gateable = true;                  ///< the MDE is within pass_limit thresholds
  Verdict verdict = Verdict::inconclusive;
  std::string reason;
};

/// Rows under suspicion: the families of Holm.
struct GateFamily {
  std::size_t worse = 0, better = 0;
  std::size_t of(Suspicion suspicion) const { return suspicion == Suspicion::better ? better : worse; }
};

struct ArmLaunches {
  std::size_t ok = 0, failed = 0, outside = 0;
};

struct Gate {
  std::vector<GateRow> rows;
  Counts counts;
  std::size_t not_gateable = 0;  ///< rows whose MDE is too large for their tolerance
  std::size_t suspected = 0;     ///< rows under suspicion of being worse: the family of Holm
  std::size_t cells_expected = 0, cells_measured = 0;
  ArmLaunches base, head;
  std::size_t spoilt_pairs = 0;  ///< tries at pairs that were dropped
  std::vector<std::string> notes;
  ExitCode exit_code = ExitCode::not_comparable;
};

/// What the screen leaves to be confirmed.
struct GateConfirmation {
  std::vector<std::size_t> cells;  ///< indices: a row is under suspicion, worse or better, or head fails too often
  GateFamily family;
};
GateConfirmation to_confirm(const std::vector<GateCell>& cells, const GatePolicy& policy);

/// The new pairs of a cell suffice: every row under suspicion is decided at a look, and so are failures of head.
bool confirmation_ended(const GateCell& cell, const GateFamily& family, const GatePolicy& policy);

/// Judges the blocking metrics of every cell; d_i is head against base of pair i for the worse, ln or points, theta the
/// threshold on that scale (statistics.md 3.3 to 3.5).
/// - No spread in either arm: no test; |diff| > theta decides.
/// - Suspicion: in the screen the one-sided paired t of H0 "diff <= 0" has p < 0.20, and diff >= theta / 2; with
///   screen_signs also when the sign test and the median say so. The mirror image is a suspicion of an improvement.
/// - regressed: on the new pairs alone, H0 "diff <= theta / 4" is rejected by Holm at alpha over the rows under
///   suspicion, and diff >= 0.75 theta. improved: the mirror image, a family of its own. With several looks the p value
///   of a row is the smallest of p / alpha_share over the looks so far: by Bonferroni its level holds whenever the
///   confirmation ends, and exactly so for normal differences.
/// - A confirmation with looks ends for a cell at the first look at which every row of it under suspicion is decided:
///   confirmed at alpha / (rows under suspicion), or not worth more pairs (GatePolicy::stop_share).
/// - New pairs without spread of a row whose screen had some: only all of them decide by the exact rule.
/// - unstable, hence inconclusive: t and sign-flip disagree about 0.05, or mean and Hodges-Lehmann differ by more than
///   theta / 2.
/// - pass: the one-sided 90 % bound of diff and the MDE are below 2 theta; on the new pairs for rows under suspicion,
///   else on the screen. Otherwise inconclusive; so is what was suspected and not confirmed, and a screen cut short.
/// - Row "launches": head fails in a third of its launches (two at least) and base never: regressed, once the new pairs
///   show the same, or at once when no launch of head went well. Fewer failures, or failures of base as well: invalid.
/// - invalid: a pair was spoilt in every try, a value <= 0 on the ratio scale, units that differ.
/// - missing: the cell or the value is in one arm only.
///
/// Exit code, the first that holds: 1 a row regressed; 5 a row missing; 3 invalid; 4 inconclusive; 5 nothing compared;
/// 0.
Gate judge_gate(const std::vector<GateCell>& cells, const GatePolicy& policy);

}  // namespace stepgauge::verdict
