#pragma once
// The lines of a history (schema "history"): each is one JSON object that stands on its own, so that lines can be
// appended by anyone and two branches merge as the union of their lines.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "contract/cell.hpp"
#include "contract/confirmation.hpp"
#include "contract/json_io.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::store {

inline constexpr int history_version = 1;

/// What the ok launches of a cell gave for one metric, in order of the launches; never empty.
struct HistoryValues {
  std::string unit;
  std::vector<double> values;
};

struct HistoryCell {
  std::string id, hash;
  std::map<std::string, std::size_t> statuses;  ///< status -> launches; empty: it was not launched
  std::map<std::string, HistoryValues> metrics;
  std::map<std::string, CellTolerance> tolerance;  ///< those that replace the catalogue's
};

/// One run of a night.
struct HistoryRun {
  std::string run;         ///< run_id()
  std::string created_at;  ///< UTC, ISO 8601
  std::string commit;      ///< empty: not known
  std::string source;      ///< the folder it was read from
  std::vector<HistoryCell> cells;
};

/// The tip, and where it was measured the frozen control build of the same night.
struct Night {
  std::string suite, added_at;
  Json fingerprint = Json::object();
  HistoryRun tip;
  std::optional<HistoryRun> reference;
};

/// A change that is known and meant, or at least lived with: it starts a new segment of the series that it names.
struct Acknowledgement {
  std::string series;  ///< glob on "CELL:METRIC" or on the cell's id, with or without the hash at its end
  std::string night;   ///< run id of the first night of the new level
  std::string reason, by, at;
};

/// A night that later ones are held against, whatever was acknowledged between them: a release.
struct Pin {
  std::string night, name, at;
};

/// A night and its commit, as it was built.
struct MeasuredNight {
  std::string night, commit;
};

/// An alarm of one series that was measured: pairs of the last good commit and the first bad one, side by side. Sizes
/// are shares, or points, with the metric's own sign.
struct Confirmation {
  std::string cell, metric;
  MeasuredNight last_good, first_bad;
  double alarm_size = 0;  ///< of the alarm when it was measured
  ConfirmationVerdict verdict = ConfirmationVerdict::unknown;
  std::string reason;  ///< of "unknown", or a remark
  std::size_t pairs = 0;
  std::optional<double> change, ci_lower, ci_upper;  ///< first bad against last good, 95 %
  std::string folder;                                ///< with the launches; empty: none were made
  std::string at;
};

using HistoryEntry = std::variant<Night, Acknowledgement, Pin, Confirmation>;

Json to_json(const HistoryEntry& entry);

/// ContractError naming `where` (FILE:LINE) for another schema, a newer version, an unknown kind, a missing field or a
/// wrong type, and for an empty reason, name or author.
HistoryEntry history_entry_from_json(const Json& value, const std::string& where);

/// "20261130T020000Z-1a2b3c4d": when the run was made, and a hash over the whole of its run.json. The same for every
/// copy of the folder, and after a resume. std::invalid_argument when the run has no time.
std::string run_id(const RunInfo& info);

/// The numbers of a run's ok launches, each launch's last attempt; metrics without a value are left out.
HistoryRun history_run(const RunFolder& run, std::string commit);

}  // namespace stepgauge::store
