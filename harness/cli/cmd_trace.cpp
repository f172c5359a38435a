// stepgauge trace show PATH, stepgauge trace diff A B: where the time of traced steps went.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/result_output.hpp"
#include "report/trace_table.hpp"
#include "trace/reader.hpp"

namespace stepgauge::cli {
namespace {

constexpr const char* path_help = "launch folder with traces, or a trace file (stepgauge's, merged, or Kineto's)";
constexpr const char* exit_codes =
    "\nExit codes: 0 shown, 2 no readable trace, 3 a trace cannot be trusted (numbers are withheld, with the reasons)";

struct ShowOptions {
  std::string path;
  int rank = -1;
  std::size_t top = 10;
  bool json = false;
};

struct DiffOptions {
  std::string a, b;
  std::size_t top = 20;
  bool json = false;
};

trace::LaunchTraces load(const std::string& path) {
  return trace::analyse(path, trace::read_launch_traces(path));
}

ExitCode code_of(bool reliable) {
  return reliable ? ExitCode::nothing_worse : ExitCode::measurement_failed;
}

ExitCode show(const ShowOptions& options) {
  trace::ViewOptions view_options;
  if (options.rank >= 0) view_options.rank = options.rank;
  view_options.top = options.top;
  const auto view = trace::view(load(options.path), view_options);
  fmt::print("{}", options.json ? dump_line(trace::to_json(view)) + "\n" : report::trace_table(view, terminal_style()));
  return code_of(view.reliable());
}

ExitCode diff(const DiffOptions& options) {
  const auto result = trace::diff(load(options.a), load(options.b));
  fmt::print("{}", options.json ? dump_line(trace::to_json(result)) + "\n"
                                : report::trace_diff_table(result, options.top, terminal_style()));
  return code_of(result.reliable());
}

void add_show(CLI::App& trace, Program& program) {
  auto options = std::make_shared<ShowOptions>();
  auto* command = trace.add_subcommand("show", "shares of compute, communication, copies and idle; what took longest");
  command->add_option("path", options->path, path_help)->required();
  command->add_option("--rank", options->rank, "this rank only")->check(CLI::NonNegativeNumber);
  command->add_option("--top", options->top, "rows of work and of idle time")->capture_default_str();
  command->add_flag("--json", options->json, "JSON on standard output, with names in full");
  command->footer(std::string("Example: stepgauge trace show runs/a/launches/LAUNCH") + exit_codes);
  command->callback([options, &program] { program.code = show(*options); });
}

void add_diff(CLI::App& trace, Program& program) {
  auto options = std::make_shared<DiffOptions>();
  auto* command =
      trace.add_subcommand("diff", "from A to B: what appeared, went, or takes another time, by cost per step");
  command->add_option("a", options->a, path_help)->required();
  command->add_option("b", options->b, "the same")->required();
  command->add_option("--top", options->top, "rows of what changed")->capture_default_str();
  command->add_flag("--json", options->json, "JSON on standard output, with names in full");
  command->footer(std::string("Example: stepgauge trace diff runs/a/launches/LAUNCH runs/b/launches/LAUNCH") +
                  exit_codes);
  command->callback([options, &program] { program.code = diff(*options); });
}

}  // namespace

void add_trace(Program& program) {
  auto* command = program.app.add_subcommand("trace", "where the time of traced steps went");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  stepgauge trace show runs/a/launches/LAUNCH\n"
      "  stepgauge trace diff before.trace.json.gz after.trace.json.gz");
  add_show(*command, program);
  add_diff(*command, program);
}

}  // namespace stepgauge::cli
