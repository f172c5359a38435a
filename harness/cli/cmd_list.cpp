// stepgauge list SUITE: the dry run.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/duration_guess.hpp"
#include "cli/suite_options.hpp"
#include "report/text.hpp"

namespace stepgauge::cli {
namespace {

struct ListOptions {
  SuiteOptions suite;
  bool json = false;
};

Json list_json(const Plan& plan, const DurationGuess& guess) {
  auto cells = Json::array();
  for (const auto& cell : plan.cells) {
    auto item = to_json(cell);
    item["estimated_s"] = guess.cell_seconds(cell);
    cells.push_back(std::move(item));
  }
  auto skipped = Json::array();
  for (const auto& cell : plan.skipped) {
    skipped.push_back({{"id", cell.id}, {"status", to_string(cell.status)}, {"reason", cell.reason}});
  }
  return {{"suite", plan.suite.name},
          {"cells", cells},
          {"skipped", skipped},
          {"estimated_minutes", guess.total_minutes(plan.cells)}};
}

void print_plan(const Plan& plan, const DurationGuess& guess) {
  std::string out;
  std::size_t launches = 0;
  for (const auto& cell : plan.cells) {
    launches += static_cast<std::size_t>(cell.launches);
    fmt::format_to(std::back_inserter(out), "{:<80} {:>3} x {:>6.1f} s\n", report::printable(cell.id), cell.launches,
                   guess.launch_seconds(cell));
  }
  for (const auto& cell : plan.skipped) {
    fmt::format_to(std::back_inserter(out), "{:<80} {}: {}\n", report::printable(cell.id), to_string(cell.status),
                   report::printable(cell.reason));
  }
  fmt::print("{}{}: {} cells, {} launches, {} left out; about {:.1f} minutes ({})\n", out,
             report::printable(plan.suite.name), plan.cells.size(), launches, plan.skipped.size(),
             guess.total_minutes(plan.cells), guess.source());
}

}  // namespace

void add_list(Program& program) {
  auto options = std::make_shared<ListOptions>();
  auto* command = program.app.add_subcommand(
      "list", "dry run: every cell, every skip with its reason, launches, estimated minutes");
  options->suite.add_to(*command);
  options->suite.add_launches_to(*command);
  command->add_flag("--json", options->json, "JSON on standard output");
  command->footer("Example: stepgauge list configs/h200_first.yaml --only 'llama*'");
  command->callback([options, &program] {
    const auto plan = make_plan(options->suite, program.name);
    const DurationGuess guess(plan);
    if (options->json) {
      fmt::print("{}\n", dump_line(list_json(plan, guess)));
    } else {
      print_plan(plan, guess);
    }
    if (plan.cells.empty()) program.code = ExitCode::measurement_failed;
  });
}

}  // namespace stepgauge::cli
