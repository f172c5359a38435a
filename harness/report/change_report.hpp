#pragma once
// What stands in front of a merge, said once of a gate or of a comparison: for the one comment on a change, and for the
// test report of a CI server.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verdict/comparison.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::report {

/// A row with its numbers as text, in percent or in the metric's unit; texts of others are not escaped yet.
struct ChangeRow {
  std::string cell, base_cell, metric, unit;
  std::string base, head, change, interval, tolerance, mde;
  std::string launches;  ///< what the numbers rest on: "15 new pairs", "5 pairs", "3 and 3 launches"
  verdict::Verdict verdict = verdict::Verdict::invalid;
  bool worse = false;  ///< the estimate is worse by what counts as a change, or more
  bool gateable = true;
  bool advisory = false;  ///< never blocks
  bool perturbed = false;
  std::string reason;
};

struct ChangeReport {
  bool gate = true;  ///< else of a comparison
  std::string suite;
  std::string base, head;  ///< the arms, or the names of the runs
  ExitCode exit_code = ExitCode::not_comparable;
  std::string refusal;  ///< why nothing could be compared; empty: it could
  std::string stopped;  ///< why a gate ended early; empty: it did not
  bool interrupted = false;
  verdict::Counts counts;
  std::optional<std::size_t> not_gateable;  ///< rows of a gate
  std::size_t cells_measured = 0, cells_expected = 0;
  std::vector<ChangeRow> rows;
  std::vector<SkippedCell> skipped;  ///< cells that were not measured at all, each with its reason
  std::vector<verdict::FieldDifference> machine, software;
  std::vector<std::string> notes;
  std::string design;                 ///< "3 pairs of each cell, 5 new ones ..., rows suspected: 1, pairs dropped: 0"
  std::optional<std::uint64_t> seed;  ///< of a gate
  int attempts = 0;                   ///< of a gate
  std::string command;                ///< that measures it again, as a shell reads it; empty: unknown
  std::string resume;                 ///< command that goes on with a gate; empty: none does
  std::string new_baseline;           ///< command that makes head the baseline; empty: unknown
  std::string created_at, folder;
  Json fingerprint = Json::object();
  double elapsed_s = 0;
};

ChangeReport change_report(const verdict::Gate& gate, const verdict::GateContext& context);
ChangeReport change_report(const verdict::Comparison& comparison);

/// GitHub takes 65,536 characters a comment; GitLab far more.
inline constexpr std::size_t comment_bytes = 60000;

/// Markdown for one comment that is found again by its first line, "<!-- stepgauge:SUITE -->": verdict and what to do
/// first, then the counts, the confirmed rows, what is large but was not confirmed, and the rest folded. At most
/// `most_bytes` (32,000 at least): rows that do not fit are counted. What others wrote is escaped (detail/escape.hpp).
std::string comment_markdown(const ChangeReport& report, std::size_t most_bytes = comment_bytes);

/// JUnit's XML: a test suite per cell, a test case per row. regressed: failure; invalid and missing: error;
/// inconclusive, and cells that were not measured here: skipped, each with its message. Where nothing was compared
/// there is one case that is an error: no report without a test is green. `cell_seconds`: what the launches of a cell
/// took.
std::string junit_xml(const ChangeReport& report, const std::map<std::string, double>& cell_seconds = {});

}  // namespace stepgauge::report
