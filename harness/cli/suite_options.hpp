#pragma once
// What `list` and `run` share: which cells of a suite are meant, who runs them, and which of them this machine cannot
// do.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/launcher_options.hpp"
#include "cli/shard.hpp"
#include "config/selection.hpp"
#include "config/suite.hpp"
#include "machine/machine.hpp"

namespace stepgauge::cli {

struct SuiteOptions {
  std::string suite_path;
  config::Selection selection;
  std::vector<int> devices;          ///< CUDA indices; empty: all that are there
  std::vector<std::string> workers;  ///< "CMD ARGS" for the built-in worker, or "NAME=CMD ARGS" for a name of the
                                     ///< suite; CMD may be container:IMAGE, ARGS then its program
  int launches = 0;                  ///< 0: as the suite says
  LauncherOptions launcher;
  std::string shard_text;

  void add_to(CLI::App& command);
  void add_workers_to(CLI::App& command);  ///< --devices and --worker alone
  void add_launches_to(CLI::App& command);
};

/// A suite made ready for this machine.
struct Plan {
  config::Suite suite;
  machine::Machine machine;
  std::vector<Cell> cells;                         ///< to be launched
  std::vector<std::size_t> places;                 ///< of each cell, the same for a cell and for its variants
  std::map<std::size_t, std::string> unsupported;  ///< place -> why this machine cannot do the cell there
  std::vector<SkippedCell> skipped;                ///< deselected, excluded or unsupported here, each with its reason
  std::map<std::string, std::vector<std::string>> commands;  ///< worker name -> argv
  LauncherChoice launcher;
  Shard shard;
};

/// `variant` changes every cell (config/variant.hpp), or those that a glob of `at` matches; both selections are by the
/// ids that the cells have without it.
/// Throws ConfigError for the suite, the selection, a worker name that the suite does not know, or a command that
/// cannot be split; std::invalid_argument for a container without an image.
Plan make_plan(const SuiteOptions& options, const std::string& program_name, const config::NodePtr& variant = nullptr,
               const std::vector<std::string>& at = {});

/// argv of `--worker "CMD ARGS"`: words apart by spaces, quotes as a shell has them, nothing expanded. Throws
/// ConfigError, which names the option.
std::vector<std::string> split_command(const std::string& text, const char* option = "--worker");

/// Path of the worker that was built beside this program.
std::filesystem::path built_in_worker(const std::string& program_name);

/// The CUDA devices of the run: those chosen on the command line, else all that are there.
std::vector<int> chosen_devices(const SuiteOptions& options, const machine::Machine& machine);

/// The devices of a cell: the first `ranks` of the chosen ones; empty for a CPU cell.
std::vector<int> devices_of(const Cell& cell, std::vector<int> chosen);

}  // namespace stepgauge::cli
