// stepgauge selftest [SUITE]: does the gate, on this machine, pass what is the same, block what is slower, and call
// nothing "nothing"?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "cli/selftest_checks.hpp"
#include "cli/suite_options.hpp"
#include "cli/utc.hpp"
#include "config/config_error.hpp"
#include "embedded_suites.hpp"
#include "store/output_folder.hpp"

namespace stepgauge::cli {
namespace {

struct SelftestOptions {
  SuiteOptions suite;
  std::string out, pairs = "5,8";
  std::optional<double> plant_percent;
  bool json = false, quiet = false;
};

constexpr double planted_thresholds = 3;  ///< a slowdown so large that no gate may sleep through it

/// The suite that came with the program, for the devices that are here, as a file that the user can read and change.
std::string built_in_suite(const std::filesystem::path& folder) {
  const auto* name = machine::inspect().gpus.empty() ? "configs/selftest_cpu.yaml" : "configs/selftest_gpu.yaml";
  const auto path = (folder / std::filesystem::path(name).filename()).string();
  store::make_output_folder(folder);
  write_text_file(path, embedded_suites::embedded_files().at(name));
  return path;
}

std::vector<std::string> words_of(const SuiteOptions& options) {
  std::vector<std::string> out;
  for (const auto& glob : options.selection.only) out.push_back("--only=" + glob);
  for (const auto& glob : options.selection.skip) out.push_back("--skip=" + glob);
  for (const auto& worker : options.workers) out.push_back("--worker=" + worker);
  for (const auto device : options.devices) out.push_back(fmt::format("--devices={}", device));
  return out;
}

/// (1 + tolerance)^3: the throughput falls by three thresholds on the scale of the gate.
double percent_to_plant(const Cell& cell) {
  double tolerance = find_metric("throughput")->tolerance;
  if (const auto own = cell.tolerance.find("throughput"); own != cell.tolerance.end())
    tolerance = own->second.relative.value_or(tolerance);
  return 100 * (std::pow(1 + tolerance, planted_thresholds) - 1);
}

const Cell& cell_to_plant(const Plan& plan) {
  const auto found =
      std::find_if(plan.cells.begin(), plan.cells.end(), [](const Cell& cell) { return !is_perturbed(cell); });
  if (found == plan.cells.end()) throw std::runtime_error("selftest: no cell of the suite can run here");
  return *found;
}

void selftest(SelftestOptions options, Program& program) {
  SelftestSetup setup;
  setup.folder = options.out.empty() ? fmt::format("runs/selftest-{}", utc_now("%Y%m%d-%H%M%S")) : options.out;
  if (std::filesystem::exists(setup.folder) && !std::filesystem::is_empty(setup.folder))
    throw config::ConfigError("", 0, 0, fmt::format("--out {}: is not empty", setup.folder.string()));
  if (options.suite.suite_path.empty()) options.suite.suite_path = built_in_suite(setup.folder);
  const auto plan = make_plan(options.suite, program.name);
  const auto& planted = cell_to_plant(plan);
  setup.suite_path = options.suite.suite_path;
  setup.suite = plan.suite.name;
  setup.suite_options = words_of(options.suite);
  setup.planted_cell = planted.id;
  setup.planted_worker = planted.worker;
  setup.planted_percent = options.plant_percent.value_or(percent_to_plant(planted));
  setup.pairs = options.pairs;
  setup.quiet = options.quiet;
  store::make_output_folder(setup.folder);
  const auto result = run_selftest(setup);
  const auto document = to_json(result);
  write_text_file((setup.folder / "selftest.json").string(), dump_pretty(document));
  if (options.json) {
    fmt::print("{}\n", dump_line(document));
  } else {
    fmt::print("{}", report::selftest_table(result, terminal_style()));
  }
  program.code = exit_code_of(result);
}

}  // namespace

void add_selftest(Program& program) {
  auto options = std::make_shared<SelftestOptions>();
  auto* command = program.app.add_subcommand(
      "selftest", "does the gate work here? the same program twice, a planted slowdown, emptied results");
  command->add_option("suite", options->suite.suite_path,
                      "suite, YAML or JSON (default: a small one that came with the program, for the devices here)");
  command->add_option("--only", options->suite.selection.only, "only cells whose id matches one of these globs");
  command->add_option("--skip", options->suite.selection.skip, "leave out cells whose id matches one of these globs");
  options->suite.add_workers_to(*command);
  command->add_option("--pairs", options->pairs, "N1,N2: pairs of each gate, as gate takes them")
      ->capture_default_str();
  command
      ->add_option("--plant", options->plant_percent,
                   "percent by which the steps of the first cell are made longer (default: three tolerances)")
      ->check(CLI::PositiveNumber);
  command->add_option("--out", options->out, "folder to make (default: runs/selftest-<time>)");
  command->add_flag("--json", options->json, "JSON on standard output (schema selftest), as in FOLDER/selftest.json");
  command->add_flag("--quiet", options->quiet, "no progress on standard error");
  command->footer(
      "Examples:\n"
      "  stepgauge selftest\n"
      "  stepgauge selftest configs/pr_gate.yaml --only 'resnet50*eager*' --devices 0\n"
      "Exit codes: 0 every check is as expected, 1 a check is wrong, 2 usage or config error, 3 it could not be "
      "measured");
  command->callback([options, &program] { selftest(*options, program); });
}

}  // namespace stepgauge::cli
