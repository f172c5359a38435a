#pragma once
// The checks of `selftest`: this program called as a user calls it, on arms whose verdict is known beforehand.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/interrupt.hpp"
#include "report/selftest_table.hpp"

namespace stepgauge::cli {

struct SelftestSetup {
  std::filesystem::path folder;  ///< there; the gates are made in it
  std::string suite_path, suite;
  std::vector<std::string> suite_options;  ///< --only=.., --worker=.. and so on, as every gate is given them
  std::string planted_cell;                ///< id
  std::string planted_worker;              ///< name of the cell's worker
  double planted_percent = 0;
  std::string pairs;  ///< "5,15"
  bool quiet = false;
};

/// Runs every check, one after the other; ends early when the user interrupts, and the checks that are left are
/// not_measured. Throws ConfigError when a command refuses its arguments.
/// - The same program in both arms: 0.
/// - Steps of one cell made longer in head: 1, its throughput regressed, and no row of another cell.
/// - A worker that leaves no record, in both arms: 3 or 5.
/// - The first gate's arms with head's journal emptied, and with both: 3 or 5.
report::Selftest run_selftest(const SelftestSetup& setup);

}  // namespace stepgauge::cli
