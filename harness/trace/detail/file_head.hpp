#pragma once
// The fields of a trace file beside its events.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge::trace::detail {

/// What the head says about one rank.
struct RankHead {
  int rank = 0;
  std::optional<int> world_size;
  bool foreign = true;
  std::optional<bool> host_time;  ///< nullopt: the events tell
  std::string device_name;
  std::int64_t dropped = 0, clock_shift = 0;
  std::vector<double> event_step_ms;
};

/// Files of several ranks: every event's process is `pid_offset` and less than the next rank's.
struct MergedRank {
  std::int64_t pid_offset = 0;
  RankHead head;
};

constexpr std::int64_t pids_per_rank = 1'000'000;

class FileHead {
 public:
  /// Whether a field of the file belongs to the head.
  static bool wants(std::string_view key);
  /// Keeps a field. Throws ContractError when a field that stepgauge writes is not what docs/trace_file.md says.
  void set(std::string_view key, Json value);

  std::int64_t base_ns() const { return base_ns_; }
  bool merged() const { return !merged_.empty(); }
  const std::vector<MergedRank>& ranks() const { return merged_; }
  /// Of a file of one rank; `device`: the one that its kernels ran on.
  RankHead rank(std::int64_t device) const;

 private:
  Json distributed_ = Json::object(), devices_ = Json::array(), own_ = Json::object();
  std::vector<MergedRank> merged_;
  std::int64_t base_ns_ = 0;
};

}  // namespace stepgauge::trace::detail
