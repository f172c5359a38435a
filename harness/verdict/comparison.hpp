#pragma once
// The outcome of a comparison, ready to be shown or written (schema "comparison").
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/metrics.hpp"
#include "contract/status.hpp"
#include "verdict/differences.hpp"

namespace stepgauge::verdict {

inline constexpr int comparison_version = 1;

enum class Verdict { pass, regressed, improved, inconclusive, invalid, missing };
std::string_view to_string(Verdict verdict);

/// Name of the row that says that more launches failed than in the base.
inline constexpr const char* launches_row = "launches";

struct Side {
  std::size_t n = 0;           ///< launches with status ok and a value
  std::optional<double> mean;  ///< geometric for ratio metrics
  std::optional<double> cv;    ///< standard deviation / mean between launches; n >= 2
  std::string statuses;        ///< of all launches of the cell, "2 ok, 1 crashed"
};

/// A stored baseline of fewer sessions or launches of a row is shown, and never blocks (statistics.md 3.6).
inline constexpr std::size_t least_sessions = 5, least_baseline_launches = 20;

/// One metric of one cell. Fractions on the ratio scale (0.02 = 2 %), the metric's own unit on the points scale.
struct Row {
  std::string cell;       ///< id in head (in base for a cell that is missing)
  std::string base_cell;  ///< id in base where it is another: a perturbed cell beside its unperturbed one
  std::string metric, unit;
  Better better = Better::lower;
  Scale scale = Scale::ratio;
  bool blocking = false;
  bool perturbed = false;  ///< head is slowed on purpose
  Side base, head;
  std::size_t base_sessions = 0;  ///< of a stored baseline that have a value; 0: base is a run

  std::optional<double> change;              ///< head / base - 1, or head - base
  std::optional<double> ci_lower, ci_upper;  ///< 95 % interval of change over launches
  double tolerance = 0;                      ///< relative; of head's cell, else of the catalogue
  double floor = 0;                          ///< in unit
  std::optional<double> threshold;           ///< max(tolerance, floor / base mean), what counts as a change
  std::optional<double> mde;                 ///< smallest change that would have been found (power 80 %)
  std::optional<double> worse_bound;         ///< one-sided 95 % bound of the change for the worse
  std::optional<double> p, p_adjusted;       ///< one-sided, of "worse by more than a quarter of the threshold"; Holm
  bool exact = false;                        ///< no spread on either side: no test was needed
  Verdict verdict = Verdict::invalid;
  std::string reason;
};

struct Counts {
  std::size_t expected = 0;  ///< rows that base has values for
  std::size_t compared = 0;  ///< passed + regressed + improved + inconclusive with numbers on both sides
  std::size_t passed = 0, regressed = 0, improved = 0, inconclusive = 0, invalid = 0, missing = 0;

  void add(Verdict verdict, bool has_numbers);  ///< a row, with a change that can be told or without
};
Json to_json(const Counts& counts);

/// The first that holds: 1 a row regressed; 5 missing; 3 invalid; 4 inconclusive; 5 nothing compared; 0.
ExitCode exit_code_of(const Counts& counts);
Json to_json(const std::vector<FieldDifference>& differences);

struct UnmatchedCell {
  std::string id;
  std::string reason;
};

/// Geometric mean of head / base over matched cells; -1 is never a skipped cell, only cells with numbers are in it.
struct Summary {
  std::string metric;
  double change = 0;
  std::size_t cells = 0;
};

struct Comparison {
  std::string suite;
  std::string base_name, head_name, base_created_at, head_created_at;
  std::size_t base_sessions = 0;  ///< of a stored baseline; 0: base is a run
  std::string base_expires_at;    ///< of a stored baseline, UTC; empty: never
  bool comparable = false;
  std::string refusal;                   ///< why not comparable
  std::vector<FieldDifference> machine;  ///< of the fingerprints; not empty and comparable: allowed by policy
  std::vector<FieldDifference> software;
  std::size_t cells_expected = 0, cells_matched = 0, cells_excluded = 0;
  Counts counts;    ///< blocking rows: the verdict rests on these
  Counts advisory;  ///< the others
  std::vector<Row> rows;
  std::vector<UnmatchedCell> only_in_base, only_in_head;
  std::vector<Summary> summaries;
  std::vector<std::string> notes;
  ExitCode exit_code = ExitCode::not_comparable;
};

Json to_json(const Comparison& comparison);

/// Reads a document of schema "comparison" back. Throws ContractError naming `where` and the field; also for rows that
/// do not come to the counts and the exit code beside them.
Comparison comparison_from_json(const Json& value, std::string_view where);

}  // namespace stepgauge::verdict
