#pragma once
// The journal of a run: one launch record a line, appended with one write() and fsynced.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "contract/record.hpp"
#include "store/detail/file.hpp"

namespace stepgauge::store {

struct JournalScan {
  std::vector<LaunchRecord> records;
  std::string torn;                ///< a last line without its end, left by a crash; not in records
  std::uint64_t intact_bytes = 0;  ///< length of the file up to the last whole line
};

/// Parses launch records, one a line, from line `first_line` on; `origin` is the file that errors name. ContractError
/// "FILE:LINE: ..." for a whole line that is no launch record of this version.
JournalScan scan_records(std::string_view text, const std::string& origin, std::size_t first_line = 1);

/// Reads a journal. ContractError as above.
JournalScan scan_journal(const std::filesystem::path& path);

class Journal {
 public:
  /// Opens for appending, creating the file if needed. std::system_error naming the path.
  explicit Journal(const std::filesystem::path& path);

  /// All of the record or nothing: what a full disk left half-written is cut off again before std::system_error is
  /// thrown. Returns after fsync. ContractError for a number that is not finite (nothing is written).
  void append(const LaunchRecord& record);

  /// Cuts the file to `bytes`, keeping what is cut off in PATH.torn (appended), and fsyncs.
  void cut(std::uint64_t bytes, std::string_view torn);

 private:
  std::filesystem::path path_;
  detail::File file_;
};

}  // namespace stepgauge::store
