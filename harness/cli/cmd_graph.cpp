// stepgauge graph show PATH, stepgauge graph diff A B: what a compile mode made of the program, and where it cut.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "report/graph_table.hpp"

namespace stepgauge::cli {
namespace {

constexpr const char* path_help = "launch folder of a cell with measure: {graphs: true}, or its rank<N>.graphs.json";
constexpr const char* exit_codes = "\nExit codes: 0 shown, 2 no readable snapshot";

struct GraphOptions {
  std::string a, b, region;
  int rank = -1;
  std::size_t top = 0;
  bool json = false;
};

graph::Snapshot read(const std::string& path, const GraphOptions& options) {
  return graph::read_snapshot(path, options.rank >= 0 ? std::optional(options.rank) : std::nullopt);
}

void show(const GraphOptions& options) {
  const auto view = graph::view(read(options.a, options), {options.region, options.top});
  fmt::print("{}", options.json ? dump_line(graph::to_json(view)) + "\n" : report::graph_table(view, terminal_style()));
}

void diff(const GraphOptions& options) {
  const auto result = graph::diff(read(options.a, options), read(options.b, options));
  fmt::print("{}", options.json ? dump_line(graph::to_json(result)) + "\n"
                                : report::graph_diff_table(result, options.top, terminal_style()));
}

std::shared_ptr<GraphOptions> add_options(CLI::App& command, std::size_t top, const char* top_help) {
  auto options = std::make_shared<GraphOptions>();
  options->top = top;
  command.add_option("--rank", options->rank, "of a launch folder this rank (default: the lowest)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--top", options->top, top_help)->capture_default_str();
  command.add_flag("--json", options->json, "JSON on standard output, with everything");
  return options;
}

}  // namespace

void add_graph(Program& program) {
  auto* command = program.app.add_subcommand("graph", "the graphs that a compile mode made, and where they were cut");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  stepgauge graph show runs/a/launches/LAUNCH\n"
      "  stepgauge graph diff runs/a/launches/LAUNCH runs/b/launches/LAUNCH");

  auto* show_command = command->add_subcommand("show", "regions, why each ended, and what is called most");
  auto show_options = add_options(*show_command, 10, "targets that are called most");
  show_command->add_option("path", show_options->a, path_help)->required();
  show_command->add_option("--region", show_options->region, "the nodes of this region too, e.g. 0/0 or dynamo:0/0");
  show_command->footer(std::string("Example: stepgauge graph show runs/a/launches/LAUNCH --region dynamo:0/0") +
                       exit_codes);
  show_command->callback([show_options] { show(*show_options); });

  auto* diff_command =
      command->add_subcommand("diff", "from A to B: nodes that appeared, vanished, or moved to another region");
  auto diff_options = add_options(*diff_command, 30, "rows of nodes");
  diff_command->add_option("a", diff_options->a, path_help)->required();
  diff_command->add_option("b", diff_options->b, "the same")->required();
  diff_command->footer(std::string("Example: stepgauge graph diff before.graphs.json after.graphs.json") + exit_codes);
  diff_command->callback([diff_options] { diff(*diff_options); });
}

}  // namespace stepgauge::cli
