#pragma once
// What `selftest` found: whether this harness, on this machine, can be believed.
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "contract/status.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

enum class CheckOutcome {
  as_expected,
  wrong,        ///< a check that fails here would let a regression through, or cry wolf
  not_measured  ///< the machine or the worker did not allow it to be told
};

struct SelftestCheck {
  std::string name;
  std::vector<std::string> command;
  std::vector<int> expected;  ///< exit codes
  int found = -1;             ///< -1: a signal ended it, or it was not started
  CheckOutcome outcome = CheckOutcome::not_measured;
  std::string reason;  ///< what it found, or why it is not as expected
  double seconds = 0;
};

struct Selftest {
  std::string suite, folder, planted_cell;
  double planted_percent = 0;  ///< that each step of the planted cell is longer
  std::vector<SelftestCheck> checks;
};

/// 1 when a check is wrong, else 3 when one could not be measured (or there is none), else 0.
ExitCode exit_code_of(const Selftest& selftest);

/// Schema "selftest".
Json to_json(const Selftest& selftest);

std::string selftest_table(const Selftest& selftest, const Style& style);

}  // namespace stepgauge::report
