#pragma once
// What a run or a baseline holds once read: cells with their launches. Made by store, judged by verdict, shown by
// report.
#include <string>
#include <unordered_map>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"

namespace stepgauge {

struct CellResults {
  Cell cell;
  std::vector<LaunchRecord> launches;  ///< the last attempt of each launch index, in order of index
};

/// A cell that was asked for but not launched.
struct SkippedCell {
  std::string id, hash;
  Status status = Status::skipped;  ///< skipped or unsupported
  std::string reason;
};

/// One go of measuring, of which a baseline holds the launches; each record says of which ("session").
struct MeasuredSession {
  std::string id;           ///< of its run
  std::string measured_at;  ///< UTC, ISO 8601
  std::string source;       ///< the run folder it was saved from
  std::string commit;       ///< of the work tree when it was saved; empty: not known
};

struct ResultSet {
  std::string name;  ///< shown to the user: "runs/a", "baseline smoke (2026-11-29)"
  std::string suite;
  std::string created_at;  ///< UTC, ISO 8601
  Json fingerprint = Json::object();
  Json environment = Json::object();
  std::vector<CellResults> cells;
  std::vector<SkippedCell> skipped;
  std::vector<MeasuredSession> sessions;  ///< of a baseline, oldest first, one at least; none: a run, which is one
  std::string expires_at;                 ///< of a baseline, UTC, ISO 8601; empty: never
};

using CellIndex = std::unordered_map<std::string, const CellResults*>;

/// The cells by their ids, while `results` lives.
inline CellIndex index_of(const ResultSet& results) {
  CellIndex out;
  for (const auto& cell : results.cells) out.emplace(cell.cell.id, &cell);
  return out;
}

}  // namespace stepgauge
