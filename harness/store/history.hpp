#pragma once
// The history of nightly runs: a folder of history files, read by git and by a person.
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/history_file.hpp"

namespace stepgauge::store {

/// There is no history to judge (exit code 5).
class HistoryMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// These results must not become a night: nothing ok, planted slowdowns, no machine data, a part of a suite.
class HistoryRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct NightOptions {
  std::string commit;                              ///< of the tip; empty: not known
  std::optional<std::filesystem::path> reference;  ///< run folder of the frozen control build, made in the same night
  std::string reference_commit;                    ///< tells one control build from the next
  std::string added_at;                            ///< UTC, ISO 8601
  bool late = false;                               ///< AppendOptions::late
};

struct AddedNight {
  std::filesystem::path path;  ///< the history file
  std::string run;             ///< id of the night
  std::size_t series = 0;      ///< cells x metrics with a value
};

/// Appends a run to ROOT/<machine slug>/<suite>.jsonl. HistoryRefused; HistoryConflict, ContractError and
/// std::system_error as append_history; std::invalid_argument for a suite name that is no file name.
AddedNight add_night(const std::filesystem::path& root, const std::filesystem::path& run, const NightOptions& options);

/// Every history under root in order of machine and suite. HistoryMissing when there is none.
std::vector<History> read_histories(const std::filesystem::path& root);

/// The one that has the night; HistoryConflict naming the nearest run id.
const History& history_with(const std::vector<History>& histories, const std::string& run);

/// Commit of the current folder's work tree, "+changes" after it where tracked files were changed; empty where there
/// is no git or no repository.
std::string current_commit();

}  // namespace stepgauge::store
