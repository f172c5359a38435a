#pragma once
// A gate on disk: FOLDER/base and FOLDER/head, each a run folder of its own (so that caches, workers and cells of the
// arms cannot mix, and every other command reads them), and FOLDER/gate.json, the verdict. Every record says of which
// arm, pair and try it is.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/suite_options.hpp"
#include "store/run_folder.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::cli {

/// What the run.json of both arms says of the gate.
struct GateSetup {
  std::vector<std::string> base, head;  ///< the arms as written
  verdict::GatePolicy policy;           ///< the design and its seed
  std::string cells_digest;             ///< of the suite's cells, to see that what it extends is still the same

  struct Match {
    std::string base, head;  ///< ids; one is empty when the cell is in one arm only
    std::string unmatched;   ///< why
  };
  std::vector<Match> cells;
};

/// Cells of the same place in the suite belong together.
std::vector<GateSetup::Match> match_arms(const Plan& base, const Plan& head);

/// Digest of the cells of a suite as it is, with how they are measured and judged. Throws ConfigError.
std::string cells_digest(const std::string& suite_path);

class GateFolder {
 public:
  /// Makes both run folders. RunConflict when there is a gate already, FolderRefused when they cannot be made.
  static GateFolder create(const std::filesystem::path& path, store::RunInfo base, store::RunInfo head,
                           const GateSetup& setup);
  /// Throws ConfigError when the suite changed since, ContractError when there is no gate.
  static GateFolder resume(const std::filesystem::path& path, const std::string& suite_path,
                           const LauncherChoice& launcher);

  const std::filesystem::path& path() const { return path_; }
  const GateSetup& setup() const { return setup_; }
  store::RunFolder& arm(bool head) { return head ? head_ : base_; }
  const store::RunFolder& arm(bool head) const { return head ? head_ : base_; }

  /// ConfigError when the suite is no longer what the gate began with.
  void require_same_suite(const std::string& suite_path) const;

  /// The cells with the tries that both journals hold; half tries are left out, and with them the warm-up.
  std::vector<verdict::GateCell> cells() const;

  /// Arms (head: true) of which the cell is still to be launched before its first pair: the one that goes first, and
  /// the other unless it is the same program. None once anything of the pair was made, or where the design has none.
  std::vector<bool> warm_up_arms(std::size_t cell) const;

  /// 1 + the tries at this pair, half ones too.
  int next_try(std::size_t cell, int pair) const;
  /// How often the gate was started or gone on with, as far as it measured anything.
  int attempts() const;

  /// Notes arm, pair and try in the record and appends it.
  void append(std::size_t cell, bool head, LaunchRecord record, const Json& place);

 private:
  GateFolder(std::filesystem::path path, store::RunFolder base, store::RunFolder head, GateSetup setup);
  void note(std::size_t cell, const LaunchRecord& record);
  bool one_program(const GateSetup::Match& match) const;

  std::filesystem::path path_;
  store::RunFolder base_, head_;
  GateSetup setup_;
  std::vector<std::map<int, int>> tries_;  ///< cell -> pair -> last try
  int attempts_ = 0;
};

/// What a record of an arm says for the gate's rules.
verdict::GateTry gate_try(verdict::GateStage stage, int pair, const LaunchRecord& base, const LaunchRecord& head);

}  // namespace stepgauge::cli
