#pragma once
// What run.json says of a run: written once, before the first launch (schema "run").
#include <map>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/result_set.hpp"

namespace stepgauge::store {

inline constexpr int run_version = 1;

struct RunInfo {
  std::string suite;                 ///< name
  std::string suite_path;            ///< as given by the user
  std::string suite_hash;            ///< of the suite's text, to see that a resumed run has the same one
  std::vector<std::string> command;  ///< argv
  std::string created_at;            ///< UTC, ISO 8601
  Json environment = Json::object();
  Json fingerprint = Json::object();
  std::vector<Cell> cells;
  std::vector<SkippedCell> skipped;
  std::map<std::string, std::vector<std::string>> workers;  ///< name in the suite -> argv
  Json launcher;                    ///< name ("local", "mpirun", "srun"), version, hosts; null: not told (an older run)
  Json shard;                       ///< index and count; null: the whole
  Json gate;                        ///< of which gate the run is an arm, written by the gate; null: of none
  std::vector<std::string> merged;  ///< the runs that it was put together from
};

Json to_json(const RunInfo& info);

/// ContractError naming `origin` for a newer version, a missing field, a wrong type, or two cells of one id.
RunInfo run_info_from_json(const Json& value, std::string_view origin);

/// The parts shared with the header of a baseline.
Json cells_json(const std::vector<Cell>& cells);
std::vector<Cell> cells_from_json(const Json& value, const std::string& where);
Json skipped_json(const std::vector<SkippedCell>& skipped);
std::vector<SkippedCell> skipped_from_json(const Json& value, const std::string& where);

/// Cells with their launches: the last attempt of each launch index, in order of index, warm-ups left out.
/// ContractError "WHERE: ..." for a record of a cell that is not there.
std::vector<CellResults> join(const std::vector<Cell>& cells, const std::vector<LaunchRecord>& records,
                              const std::string& where);

}  // namespace stepgauge::store
