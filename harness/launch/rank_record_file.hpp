#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "contract/cell.hpp"
#include "contract/record.hpp"

namespace stepgauge::launch {

inline constexpr std::string_view no_record = "no record";

/// What a rank left at its record path: the record, or why it is refused (`no_record` when there is none).
struct RankRecordFile {
  std::optional<RankRecord> record;
  std::string error;
  std::optional<double> written_unix_s;  ///< modification time of the file
};

/// Never throws for what the file holds. At most 64 MiB are read.
RankRecordFile read_rank_record(const std::filesystem::path& path, const Cell& cell, int launch, int rank);

}  // namespace stepgauge::launch
