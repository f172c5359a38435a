#pragma once
// A bisection as a document (schema "bisect"): what was asked, every answer, and the outcome in one sentence.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/json_io.hpp"
#include "contract/metrics.hpp"
#include "contract/status.hpp"
#include "verdict/bisect_search.hpp"
#include "verdict/bisect_test.hpp"

namespace stepgauge::verdict {

inline constexpr int bisect_version = 1;

struct BisectCommit {
  std::string id, title;
};

struct BisectStep {
  std::string subject;               ///< the commit's id, or the settings as text
  std::string title;                 ///< of the commit
  std::optional<std::size_t> index;  ///< of the commit
  SettingSubset subset;              ///< of the settings
  BisectTest test;
  std::string folder;  ///< where its launches are; empty: none were made
};

enum class BisectOutcome {
  running,
  found,
  range,           ///< unknown or skipped ones are left between same and different
  not_different,   ///< the bad end is the same as the good one
  undecided,       ///< the test of the ends did not decide
  not_measurable,  ///< an end cannot be measured
  interrupted,
};
std::string_view to_string(BisectOutcome outcome);

struct Bisect {
  std::string suite, suite_path, cell, metric;
  bool over_commits = false;
  std::vector<std::string> good, bad;  ///< a revision each, or arms as written
  std::string repository;
  std::vector<std::string> build;
  std::vector<BisectCommit> commits;     ///< good end first
  std::vector<std::string> differences;  ///< settings in which the ends differ
  BisectPolicy policy;
  std::string folder, created_at;
  std::vector<BisectStep> steps;  ///< the first is the bad end
  std::optional<BisectDirection> direction;
  BisectOutcome outcome = BisectOutcome::running;
  std::string problem;                ///< of not_measurable: why
  std::vector<std::string> suspects;  ///< see the schema

  Scale scale() const;
  std::string sentence() const;
  ExitCode exit_code() const;
};

/// Outcome, suspects and direction from the steps. Leaves running, interrupted and not_measurable as they are when the
/// steps do not settle more.
void conclude(Bisect& bisect);

/// What to measure next: the commit's index, or the subset; both empty once nothing is left.
struct BisectQuestion {
  std::optional<std::size_t> commit;
  std::optional<SettingSubset> subset;
};
BisectQuestion next_question(const Bisect& bisect);

Json to_json(const Bisect& bisect);

}  // namespace stepgauge::verdict
