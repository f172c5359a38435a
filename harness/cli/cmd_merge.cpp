// stepgauge merge OUT RUN...: the parts of a suite, run as jobs of their own, become one run.
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "store/merge.hpp"

namespace stepgauge::cli {
namespace {

struct MergeOptions {
  std::string out;
  std::vector<std::string> runs;
  bool json = false;
};

}  // namespace

void add_merge(Program& program) {
  auto options = std::make_shared<MergeOptions>();
  auto* command = program.app.add_subcommand("merge", "put the parts of a suite (run --shard) together to one run");
  command->add_option("out", options->out, "run folder to make")->required();
  command->add_option("runs", options->runs, "run folders")->required();
  command->add_flag("--json", options->json, "JSON on standard output");
  command->footer("Example: stepgauge merge runs/all runs/part1 runs/part2 runs/part3");
  command->callback([options] {
    const auto merged = store::merge_runs(options->out, {options->runs.begin(), options->runs.end()});
    show_results(merged.results(), merged.path(), options->json);
  });
}

}  // namespace stepgauge::cli
