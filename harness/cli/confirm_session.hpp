#pragma once
// The confirmation of a history's alarms: builds of the last good and the first bad commit, pairs of the two, and what
// they said, back into the history.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/commit_builds.hpp"
#include "cli/gate_folder.hpp"
#include "cli/suite_options.hpp"
#include "store/history_file.hpp"
#include "verdict/confirmation.hpp"

namespace stepgauge::cli {

struct ConfirmOptions {
  SuiteOptions suite;
  std::string repository;
  BuildCommands build;
  std::filesystem::path folder;  ///< for builds and launches
  std::uint64_t seed = 0;        ///< of the order within pairs
  bool quiet = false;
};

struct ConfirmResult {
  std::vector<verdict::MeasuredAlarm> alarms;
  bool interrupted = false;
};

/// Alarms of one range of commits are measured together. Each answer is appended to the history's file before the next
/// range is measured; what a range was measured before, in the same folder, is taken from there. Nothing is appended
/// for an alarm that could not be measured.
class ConfirmSession {
 public:
  /// The repository is one (require_repository).
  ConfirmSession(ConfirmOptions options, const store::History& history, const Program& program);

  /// Throws as ArmPairs and append_history.
  ConfirmResult run(const std::vector<verdict::AlarmToConfirm>& alarms);

 private:
  /// A range of commits, and places in ConfirmResult::alarms.
  struct Range {
    verdict::BisectCommit good, bad;
    std::vector<std::size_t> alarms;
  };

  std::vector<Range> ranges_of(std::vector<verdict::MeasuredAlarm>& alarms);
  std::optional<verdict::BisectCommit> commit_of(std::size_t night, verdict::MeasuredAlarm& item) const;
  void measure(const Range& range);
  void judge(verdict::MeasuredAlarm& item, const std::vector<verdict::GateCell>& cells, const GateFolder& pairs);
  void keep_same_commit(const Range& range);
  void give_up(const Range& range, const std::string& problem);
  void keep(const verdict::MeasuredAlarm& item) const;
  void tell(const std::string& line) const;

  ConfirmOptions options_;
  const store::History& history_;
  const Program& program_;
  CommitBuilds builds_;
  ConfirmResult result_;
};

}  // namespace stepgauge::cli
