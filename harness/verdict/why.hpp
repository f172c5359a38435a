#pragma once
// Why rows are worse: what differs between the arms in their cells, part by part, and what separates the bad cells of
// the matrix from the good ones (schema "why"). Records in, findings out; files and traces are the caller's business.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/result_set.hpp"
#include "verdict/judged_row.hpp"
#include "verdict/separation.hpp"

namespace stepgauge::verdict {

inline constexpr int why_version = 1;

enum class WhyKind { settings, failures, phases, kernels, collectives, memory, compile };
std::string_view to_string(WhyKind kind);

/// One thing on both sides: a number with its unit, or a text. Numbers are means over the launches that went well.
struct WhyLine {
  std::string name;
  std::string unit;  ///< of base and head; empty: the texts are meant
  std::optional<double> base, head;
  std::string base_text, head_text;
  std::optional<double> share;  ///< of the row's change: 0.8 explains most of it, below 0 works against it
  std::string how;              ///< of traced work: "appeared", "gone", "count", "time", "idle"
  std::string note;
};

/// One part of the evidence on one row. Empty `lines` and empty `absent`: recorded, and the same in both arms.
struct WhyPart {
  WhyKind kind = WhyKind::settings;
  std::vector<WhyLine> lines;  ///< what differs most comes first
  std::vector<std::string> notes;
  std::string absent;  ///< why nothing is known
};

struct WhyRow {
  JudgedRow row;
  std::vector<WhyPart> parts;  ///< most telling first: settings that differ, then by the largest share
};

/// Where over the matrix a metric is worse.
struct WhyPattern {
  std::string metric;
  Separation separation;
  std::vector<std::string> bad_cells;  ///< ids in head
  bool alike = false;                  ///< worse by about the same in all of them

  std::string text() const;
};

struct Why {
  std::string suite, base_name, head_name;
  std::string refusal;              ///< why nothing was compared; empty: something was
  std::size_t compared = 0;         ///< rows with numbers on both sides
  std::size_t worse = 0;            ///< blocking rows that regressed
  std::size_t undecided = 0;        ///< blocking rows that are inconclusive
  std::vector<WhyLine> everywhere;  ///< settings that differ in the same way in every cell that both arms have
  std::vector<WhyRow> rows;
  std::vector<WhyPattern> patterns;
  std::vector<std::string> notes;
  ExitCode exit_code = ExitCode::not_comparable;
};

/// What `trace diff` says of two launches of a cell, per step of one rank.
struct TracedWork {
  std::string name, how;  ///< "appeared", "gone", "count", "time", "idle"
  double count_base = 0, count_head = 0;
  double us_base = 0, us_head = 0;
  std::string note;
};

struct TracedPhase {
  std::string name;  ///< forward, backward, optimizer; "other work": launched outside of them
  double ms_base = 0, ms_head = 0;
};

/// The traces of two launches of a cell, one an arm.
struct TraceEvidence {
  std::vector<TracedWork> work;     ///< largest change first
  std::vector<TracedPhase> phases;  ///< sums of what was launched in a phase
  std::vector<std::string> notes;
  std::string absent;  ///< why there is none
};

/// What is known of the arms.
struct WhyEvidence {
  const ResultSet& base;
  const ResultSet& head;
  std::vector<JudgedRow> rows;                         ///< all of them, good ones too: the matrix is read from them
  std::map<std::string, TraceEvidence> traces;         ///< id in head -> traces
  std::map<std::string, std::vector<WhyLine>> clocks;  ///< id in head -> medians of the devices' clocks, MHz
  std::vector<WhyLine> arms = {};  ///< in what the arms as a whole differ: the commands of their workers
};

struct WhyOptions {
  bool undecided = false;          ///< explain inconclusive rows as well
  std::vector<std::string> cells;  ///< ids in head whose rows are explained; empty: all
};

/// The rows to explain: blocking ones that regressed, and inconclusive ones where that was asked for.
std::vector<JudgedRow> rows_to_explain(const std::vector<JudgedRow>& rows, const WhyOptions& options);

/// The exit code is 0 when rows were compared, whether or not any is worse, and 5 when none was.
Why explain_rows(const WhyEvidence& evidence, const WhyOptions& options);

Json to_json(const Why& why);

}  // namespace stepgauge::verdict
