#pragma once
// Pairs of two arms outside of a gate, for a bisection and for the confirmation of alarms: a gate folder a couple of
// arms, whose pairs are all of the screen.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/gate_arm.hpp"
#include "cli/gate_budget.hpp"
#include "cli/gate_folder.hpp"
#include "cli/gate_session.hpp"
#include "launch/launcher.hpp"
#include "machine/machine.hpp"

namespace stepgauge::cli {

/// Which arms, and where.
struct ArmCouple {
  Arm base, head;
  std::filesystem::path folder;
  verdict::GatePolicy policy;  ///< with the seed of a couple that is new
};

/// One couple that is being measured.
class OpenPairs {
 public:
  OpenPairs(GateFolder folder, const machine::Machine& machine);

  const GateFolder& folder() const { return folder_; }

 private:
  friend class ArmPairs;
  GateFolder folder_;
  GateBudget budget_;
};

class ArmPairs {
 public:
  /// `work`: what is under way, for messages: "the search".
  ArmPairs(SuiteOptions suite, bool quiet, const Program& program, std::string work);

  /// The couple's pairs as far as they were made, to be gone on with. nullptr with the reason in `problem` when no
  /// chosen cell runs in both arms here. Throws ConfigError when the suite was edited since the construction, or when
  /// an earlier part was measured on another machine.
  std::unique_ptr<OpenPairs> open(const ArmCouple& couple, std::string& problem);

  /// Makes the pairs up to `pairs` of every cell that the couple lacks.
  GateSessionResult measure(OpenPairs& pairs, std::size_t count);

  const SuiteOptions& suite() const { return suite_; }
  const machine::Machine& machine() const { return machine_; }

 private:
  void require_same_suite() const;
  void require_same_machine(const GateFolder& folder) const;

  SuiteOptions suite_;
  bool quiet_;
  const Program& program_;
  std::string work_;
  LauncherChoice launcher_;
  machine::Machine machine_;
  std::unique_ptr<launch::Launcher> engine_;
  std::string suite_hash_, cells_digest_;  ///< as the work began
};

}  // namespace stepgauge::cli
