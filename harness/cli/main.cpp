#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <system_error>

#include "cli/commands.hpp"
#include "config/config_error.hpp"
#include "contract/json_io.hpp"
#include "contract/suggest.hpp"
#include "report/text.hpp"
#include "store/baseline.hpp"
#include "store/history.hpp"
#include "store/output_folder.hpp"
#include "store/run_folder.hpp"
#include "trace/reader.hpp"

namespace {

using stepgauge::ExitCode;

int fail(ExitCode code, const char* what) {
  // Errors quote what users and workers wrote: each line is made printable.
  std::string_view text(what);
  fmt::print(stderr, "stepgauge: ");
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    fmt::print(stderr, "{}\n", stepgauge::report::printable(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return static_cast<int>(code);
}

/// The complaint about a first word that is no command; empty when that is not the trouble.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return "";
  return fmt::format("unknown command \"{}\"{}", argv[1], stepgauge::suggestion(argv[1], names));
}

/// A user's error, a broken file and a machine's failure leave by different codes; none of them shows a stack trace.
int run(stepgauge::cli::Program& program, int argc, char** argv) {
  try {
    program.app.parse(argc, argv);
    return static_cast<int>(program.code);
  } catch (const CLI::ParseError& error) {
    if (const auto unknown = unknown_command(program.app, argc, argv); !unknown.empty()) {
      return fail(ExitCode::usage, unknown.c_str());
    }
    const int code = program.app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::usage);
  } catch (const stepgauge::config::ConfigError& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const stepgauge::store::RunConflict& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const stepgauge::store::FolderRefused& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const stepgauge::store::HistoryConflict& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const stepgauge::store::HistoryMissing& error) {
    return fail(ExitCode::not_comparable, error.what());
  } catch (const stepgauge::store::HistoryRefused& error) {
    return fail(ExitCode::measurement_failed, error.what());
  } catch (const stepgauge::store::BaselineMissing& error) {
    return fail(ExitCode::not_comparable, error.what());
  } catch (const stepgauge::store::BaselineRefused& error) {
    return fail(ExitCode::measurement_failed, error.what());
  } catch (const stepgauge::ContractError& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const stepgauge::trace::TraceError& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(ExitCode::usage, error.what());
  } catch (const std::system_error& error) {
    return fail(ExitCode::measurement_failed, error.what());
  } catch (const std::exception& error) {
    return fail(ExitCode::measurement_failed, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  stepgauge::cli::Program program;
  program.name = argv[0];
  program.arguments.assign(argv, argv + argc);
  auto& app = program.app;
  app.set_version_flag("--version", "stepgauge " STEPGAUGE_VERSION);
  app.require_subcommand(1);
  stepgauge::cli::add_list(program);
  stepgauge::cli::add_run(program);
  stepgauge::cli::add_report(program);
  stepgauge::cli::add_compare(program);
  stepgauge::cli::add_gate(program);
  stepgauge::cli::add_calibrate(program);
  stepgauge::cli::add_plan(program);
  stepgauge::cli::add_selftest(program);
  stepgauge::cli::add_why(program);
  stepgauge::cli::add_bisect(program);
  stepgauge::cli::add_baseline(program);
  stepgauge::cli::add_history(program);
  stepgauge::cli::add_trace(program);
  stepgauge::cli::add_graph(program);
  stepgauge::cli::add_replay(program);
  stepgauge::cli::add_doctor(program);
  stepgauge::cli::add_schema(program);
  stepgauge::cli::add_merge(program);
  stepgauge::cli::add_rank_agent(program);
  // After the commands, which would inherit it.
  app.footer(
      "Examples:\n"
      "  stepgauge list configs/smoke.yaml                 what would run, and what cannot here\n"
      "  stepgauge run configs/smoke.yaml --out runs/a     run it\n"
      "  stepgauge baseline save runs/a                    keep it as the reference of this machine\n"
      "  stepgauge compare baseline:smoke runs/b           judge another run against it\n"
      "  stepgauge gate SUITE --base self --head BUILD     measure a change beside what it changes, and judge it\n"
      "  stepgauge calibrate SUITE                         the noise of this machine, and what a gate could see here\n"
      "  stepgauge plan SUITE                              pairs and minutes that a gate takes here\n"
      "  stepgauge selftest                                does the gate work on this machine?\n"
      "  stepgauge why GATE_FOLDER                         where a row is worse, and what differs there\n"
      "  stepgauge bisect SUITE --cell ID --metric M ...   which commit or setting made it worse\n"
      "  stepgauge history show                            what changed between the nights\n"
      "  stepgauge trace diff A B                          what differs between the traces of two launches\n"
      "  stepgauge graph diff A B                          what differs between the compiled graphs of two launches\n"
      "  stepgauge replay LOGS                             which rank is silent, late or slow in logs of collectives\n"
      "Exit codes: 0 nothing worse, 1 confirmed regression, 2 usage or config error, 3 measurement invalid or failed,\n"
      "            4 inconclusive, 5 baseline missing or not comparable");
  return run(program, argc, argv);
}
