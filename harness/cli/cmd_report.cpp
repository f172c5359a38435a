// stepgauge report RESULTS: the table of a run or a baseline, again.
#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "store/load.hpp"

namespace stepgauge::cli {
namespace {

struct ReportOptions {
  std::string source;
  std::string baselines = "results/baselines";
  bool json = false;
};

}  // namespace

void add_report(Program& program) {
  auto options = std::make_shared<ReportOptions>();
  auto* command = program.app.add_subcommand("report", "the table of a run or a baseline");
  command->add_option("results", options->source, "run folder, baseline:SUITE[@MACHINE], baseline file, or REV:PATH")
      ->required();
  command->add_option("--baselines", options->baselines, "folder of the baselines")->capture_default_str();
  command->add_flag("--json", options->json, "JSON on standard output");
  command->footer("Example: stepgauge report runs/a");
  command->callback([options] {
    show_results(store::load_result_set(options->source, {options->baselines, ""}), options->source, options->json);
  });
}

}  // namespace stepgauge::cli
