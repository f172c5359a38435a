#pragma once
// A run is a folder: run.json (schema "run"), records.jsonl (launch records, append-only), lock, launches/ (one folder
// a launch: logs, rank records).
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "contract/result_set.hpp"
#include "store/journal.hpp"
#include "store/run_info.hpp"

namespace stepgauge::store {

/// The folder holds a run already, or another process runs in it; what() says which and what to do.
class RunConflict : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RunFolder {
 public:
  /// Makes the folder with run.json and an empty journal, and locks it. RunConflict when it holds a run already or
  /// another process has it, FolderRefused when it cannot be made; std::system_error naming the path when a file in it
  /// cannot be written.
  static RunFolder create(const std::filesystem::path& path, RunInfo info);

  /// Locks a run and goes on with it. A torn last line of the journal (a crash while it was written) is cut off, kept
  /// in records.jsonl.torn and told by torn_line(). ContractError "FILE:LINE: ..." for any other bad line, or when
  /// there is no run.
  static RunFolder resume(const std::filesystem::path& path);

  /// Reads a run, also one that is going on: no lock, nothing is changed, no append().
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const RunInfo& info() const { return info_; }
  const std::vector<LaunchRecord>& records() const { return records_; }
  const std::optional<std::string>& torn_line() const { return torn_line_; }

  /// Durable when it returns. std::invalid_argument for a record of a cell that is not in the run, std::logic_error
  /// when the run was opened for reading; otherwise as Journal::append.
  void append(const LaunchRecord& record);

  /// True when the launch has a record that counts. An interrupted launch has none.
  bool completed(std::string_view cell_id, int launch) const;
  /// True when the cell has a record, a warm-up too.
  bool begun(std::string_view cell_id) const;

  /// 1 + the number of earlier attempts of this launch, counting those that left only a folder.
  int next_attempt(const Cell& cell, int launch) const;

  /// Makes and returns launches/NNNN-ID-lLaAA: number of the cell in the run, its id as a file name, launch and
  /// attempt.
  std::filesystem::path launch_folder(const Cell& cell, int launch, int attempt) const;

  ResultSet results() const;

 private:
  RunFolder(std::filesystem::path path, RunInfo info);
  struct LastAttempt {
    int number = 0;       ///< 0: none
    bool counts = false;  ///< a record that is no warm-up
  };
  void take(JournalScan scan);
  void note(const LaunchRecord& record);
  LastAttempt last_attempt(std::string_view cell_id, int launch) const;
  const std::size_t* place_of(std::string_view cell_id) const;
  std::string launch_name(const Cell& cell, int launch) const;

  std::filesystem::path path_;
  RunInfo info_;
  detail::File lock_;  ///< flock while open
  std::optional<Journal> journal_;
  std::vector<LaunchRecord> records_;
  std::optional<std::string> torn_line_;
  std::unordered_map<std::string, std::size_t> places_;                   ///< cell id -> index in info_.cells
  std::unordered_map<std::string, std::map<int, LastAttempt>> attempts_;  ///< cell id -> launch
};

}  // namespace stepgauge::store
