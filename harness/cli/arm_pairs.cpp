#include "cli/arm_pairs.hpp"

#include <fmt/format.h>

#include "cli/new_run_info.hpp"
#include "config/config_error.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {
namespace {

DurationGuess guess_of(const GateFolder& folder, const machine::Machine& machine) {
  Plan plan;
  plan.suite.name = folder.arm(false).info().suite;
  plan.machine = machine;
  for (const bool head : {false, true}) {
    for (const auto& cell : folder.arm(head).info().cells) plan.cells.push_back(cell);
  }
  return DurationGuess(plan);
}

}  // namespace

OpenPairs::OpenPairs(GateFolder folder, const machine::Machine& machine)
    : folder_(std::move(folder)), budget_(std::nullopt, folder_, guess_of(folder_, machine)) {}

ArmPairs::ArmPairs(SuiteOptions suite, bool quiet, const Program& program, std::string work)
    : suite_(std::move(suite)),
      quiet_(quiet),
      program_(program),
      work_(std::move(work)),
      launcher_(suite_.launcher.choose()),
      machine_(machine::inspect()),
      engine_(launcher_.make()),
      suite_hash_(suite_hash(suite_.suite_path)),
      cells_digest_(cells_digest(suite_.suite_path)) {}

std::unique_ptr<OpenPairs> ArmPairs::open(const ArmCouple& couple, std::string& problem) {
  require_same_suite();
  if (std::filesystem::exists(couple.folder / "head" / "run.json")) {
    auto folder = GateFolder::resume(couple.folder, suite_.suite_path, launcher_);
    require_same_machine(folder);
    return std::make_unique<OpenPairs>(std::move(folder), machine_);
  }
  GateSetup setup;
  setup.base = couple.base.forms;
  setup.head = couple.head.forms;
  setup.policy = couple.policy;
  const auto launches = static_cast<int>(couple.policy.screen_pairs);
  const auto base = arm_plan(couple.base, suite_, launches, program_.name);
  const auto head = arm_plan(couple.head, suite_, launches, program_.name);
  setup.cells = match_arms(base, head);
  setup.cells_digest = cells_digest_;
  if (setup.cells.empty()) {
    problem = head.unsupported.empty() ? "the cell cannot run here" : head.unsupported.begin()->second;
    return nullptr;
  }
  std::filesystem::remove_all(couple.folder);  // half made: it has no launches yet
  return std::make_unique<OpenPairs>(GateFolder::create(couple.folder, new_run_info(base, suite_.suite_path, program_),
                                                        new_run_info(head, suite_.suite_path, program_), setup),
                                     machine_);
}

GateSessionResult ArmPairs::measure(OpenPairs& pairs, std::size_t count) {
  return run_pairs(pairs.folder_, *engine_, pairs.budget_,
                   {chosen_devices(suite_, machine_), pairs.folder_.setup().policy, suite_.suite_path, quiet_, {}},
                   count);
}

void ArmPairs::require_same_suite() const {
  if (suite_hash_ == suite_hash(suite_.suite_path) && cells_digest_ == cells_digest(suite_.suite_path)) return;
  throw config::ConfigError("", 0, 0,
                            fmt::format("{} or a suite that it extends has changed since {} began; its answers cannot "
                                        "be mixed with new ones: start a new one",
                                        suite_.suite_path, work_));
}

void ArmPairs::require_same_machine(const GateFolder& folder) const {
  const auto& before = folder.arm(true).info().fingerprint;
  const auto now = store::fingerprint(to_json(machine_), before.contains("gpus"));
  if (const auto moved = store::moved_text(before, now); !moved.empty())
    throw config::ConfigError("", 0, 0, fmt::format("{}: {} {}", folder.path().string(), work_, moved));
}

}  // namespace stepgauge::cli
