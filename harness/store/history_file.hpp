#pragma once
// One history file, HISTORY/<machine slug>/<suite>.jsonl: the nights of one suite on one machine, the acknowledgements,
// the pins and the confirmations, one line each, appended and never changed.
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/history_entry.hpp"

namespace stepgauge::store {

/// The line would contradict those that are there: a run that was added already, a night before the last one, a night
/// that is not known; or another process holds the file. what() says which and what to do.
class HistoryConflict : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct History {
  std::filesystem::path path;
  std::string slug, suite;
  std::vector<Night> nights;  ///< in order of time, whatever the order of the lines
  std::vector<Acknowledgement> acknowledgements;
  std::vector<Pin> pins;
  std::vector<Confirmation> confirmations;
  std::vector<std::string> notes;  ///< what a reader should know of the file: "FILE:LINE: ..." and what to do

  std::map<std::string, std::size_t> lines;  ///< run id of a night -> its line, from 1
  std::string torn;                          ///< a last line without its end, left by a crash; in no entry
  std::uint64_t intact_bytes = 0;            ///< length of the file up to the last whole line
  bool ends_line = true;                     ///< false: the last line is whole, and only its line end is missing

  const Night* find(std::string_view run) const;
};

/// Reads the text of a history file, whose place (`path`) says machine and suite. A torn last line, a night that stands
/// twice with the same words and a clock that went backwards are notes; ContractError "FILE:LINE: ..." with what to do
/// for any other line that is none of this version, a night of another machine or suite, a run id with two contents,
/// and an acknowledgement, pin or confirmation of a night that is not there.
History parse_history(std::string_view text, const std::filesystem::path& path);
History read_history(const std::filesystem::path& path);

struct AppendOptions {
  bool late = false;       ///< a night before the last one is welcome
  double patience_s = 60;  ///< how long another writer is waited for
};

/// Appends one line, durable when it returns: all of it or nothing. The file is made if need be and locked meanwhile
/// (flock on the file itself), so that two writers leave two whole lines. A torn last line is kept aside in PATH.torn.
/// HistoryConflict when the line does not fit or the other writer does not end, ContractError as read_history: nothing
/// is written then. std::system_error naming the path.
void append_history(const std::filesystem::path& path, const HistoryEntry& entry, const AppendOptions& options = {});

}  // namespace stepgauge::store
