#include "cli/suite_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <filesystem>
#include <set>

#include "cli/worker_containers.hpp"
#include "contract/container_command.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::cli {
namespace {

constexpr const char* built_in = "stepgauge";

std::map<std::string, std::vector<std::string>> worker_commands(const SuiteOptions& options, const config::Suite& suite,
                                                                const std::string& program_name) {
  auto commands = suite.workers;
  commands[built_in] = {built_in_worker(program_name).string()};
  std::vector<std::string> names;
  for (const auto& entry : commands) names.push_back(entry.first);
  for (const auto& text : options.workers) {
    const auto equals = text.find('=');
    const auto space = text.find(' ');
    const auto slash = text.find('/');
    const bool named =
        equals != std::string::npos && equals < space && equals < slash && !text.starts_with(container_prefix);
    const auto name = named ? text.substr(0, equals) : built_in;
    if (commands.count(name) == 0) {
      throw config::ConfigError(
          "", 0, 0, fmt::format("--worker: the suite has no worker \"{}\"{}", name, suggestion(name, names)));
    }
    commands[name] = split_command(named ? text.substr(equals + 1) : text);
    if (is_container(commands[name])) container_command(commands[name]);  // refuses what names no image
  }
  return commands;
}

/// Why the cell is not launched: what no machine can do goes before what this one lacks.
std::optional<std::string> why_not(const Cell& cell, const Plan& plan, const std::vector<int>& devices) {
  if (auto reason = unsupported_reason(cell); !reason.empty()) return reason;
  if (is_container(plan.commands.at(cell.worker))) {
    if (auto reason = container_problem(cell, plan.launcher); !reason.empty()) return reason;
  }
  if (auto reason = plan.launcher.why_not(cell); !reason.empty()) return reason;
  return machine::unmet_requirement(cell, plan.machine, devices);
}

/// Places of the cells that are chosen on the command line.
std::set<std::size_t> selected_places(const SuiteOptions& options, const config::Suite& suite) {
  std::set<std::string> ids;
  for (const auto& cell : config::select(suite.cells, options.selection)) ids.insert(cell.id);
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < suite.cells.size(); ++i) {
    if (ids.count(suite.cells[i].id) != 0) places.insert(suite.places[i]);
  }
  return places;
}

/// The suite with the variant in the cells that `at` matches, each at its place. A cell that becomes one that is there
/// already is left out, as identical cells of a suite are.
config::Suite varied_suite(const std::string& path, const config::NodePtr& variant,
                           const std::vector<std::string>& at) {
  auto varied = config::load_suite(path, variant);
  if (variant == nullptr || at.empty()) return varied;
  auto out = config::load_suite(path);
  std::set<std::string> chosen, taken;
  for (const auto& cell : config::select(out.cells, {at, {}, "at:"})) chosen.insert(cell.id);
  std::map<std::size_t, const Cell*> by_place;
  for (std::size_t i = 0; i < varied.cells.size(); ++i) by_place[varied.places[i]] = &varied.cells[i];
  for (const auto& cell : out.cells) {
    if (chosen.count(cell.id) == 0) taken.insert(cell.id);
  }
  std::vector<Cell> cells;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    const bool change = chosen.count(out.cells[i].id) != 0;
    const auto found = by_place.find(out.places[i]);
    if (change && (found == by_place.end() || !taken.insert(found->second->id).second)) continue;
    cells.push_back(change ? *found->second : out.cells[i]);
    places.push_back(out.places[i]);
  }
  out.cells = std::move(cells);
  out.places = std::move(places);
  return out;
}

}  // namespace

std::vector<std::string> split_command(const std::string& text, const char* option) {
  bool quoted = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if ((text[i] == '"' || text[i] == '\'') && (!quoted || text[i] == quote)) {
      quoted = !quoted;
      quote = text[i];
    }
  }
  if (quoted) throw config::ConfigError("", 0, 0, fmt::format("{} {}: the quote is not closed", option, text));
  try {
    const boost::escaped_list_separator<char> rules("\\", " ", "\"'");
    const boost::tokenizer<boost::escaped_list_separator<char>> words(text, rules);
    std::vector<std::string> out;
    std::copy_if(words.begin(), words.end(), std::back_inserter(out),
                 [](const std::string& word) { return !word.empty(); });
    if (!out.empty()) return out;
  } catch (const boost::escaped_list_error& error) {
    throw config::ConfigError("", 0, 0, fmt::format("{} \"{}\": {}", option, text, error.what()));
  }
  throw config::ConfigError("", 0, 0, fmt::format("{}: the command is empty", option));
}

std::filesystem::path built_in_worker(const std::string& program_name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (error ? std::filesystem::path(program_name) : self).parent_path() / "stepgauge-worker";
}

void SuiteOptions::add_to(CLI::App& command) {
  command.add_option("suite", suite_path, "suite, YAML or JSON")->required();
  command.add_option("--only", selection.only, "run only cells whose id matches one of these globs");
  command.add_option("--skip", selection.skip, "leave out cells whose id matches one of these globs");
  add_workers_to(command);
  launcher.add_to(command);
  command.add_option("--shard", shard_text,
                     "I/N: the I-th of N parts of the cells, every N-th one; 1/4 to 4/4 make the whole");
}

void SuiteOptions::add_workers_to(CLI::App& command) {
  command.add_option("--devices", devices, "CUDA devices to use, e.g. 0,1 (default: all)")->delimiter(',');
  command.add_option(
      "--worker", workers,
      "command of the worker that replaces the built-in one, or container:IMAGE [PROGRAM ARGS]; NAME=CMD "
      "replaces one of the suite's");
}

void SuiteOptions::add_launches_to(CLI::App& command) {
  command.add_option("--launches", launches, "launches per cell (default: as the suite says)")
      ->check(CLI::Range(1, 100000));
}

Plan make_plan(const SuiteOptions& options, const std::string& program_name, const config::NodePtr& variant,
               const std::vector<std::string>& at) {
  Plan plan;
  plan.suite = varied_suite(options.suite_path, variant, at);
  plan.commands = worker_commands(options, plan.suite, program_name);
  const auto selected =
      selected_places(options, variant == nullptr ? plan.suite : config::load_suite(options.suite_path));
  plan.skipped = plan.suite.excluded;
  plan.machine = machine::inspect();
  const auto chosen = chosen_devices(options, plan.machine);
  plan.launcher = options.launcher.choose();
  plan.shard = parse_shard(options.shard_text);
  int number = 0;
  for (std::size_t i = 0; i < plan.suite.cells.size(); ++i) {
    auto cell = plan.suite.cells[i];
    const auto place = plan.suite.places[i];
    if (options.launches > 0) cell.launches = options.launches;
    if (selected.count(place) == 0) {
      plan.skipped.push_back({cell.id, cell.hash, Status::skipped, "not selected on the command line"});
    } else if (plan.shard.count > 1 && number++ % plan.shard.count != plan.shard.index - 1) {
      plan.skipped.push_back(
          {cell.id, cell.hash, Status::skipped, fmt::format("in another shard than {}", plan.shard.text())});
    } else if (const auto reason = why_not(cell, plan, devices_of(cell, chosen))) {
      plan.skipped.push_back({cell.id, cell.hash, Status::unsupported, *reason});
      plan.unsupported[place] = *reason;
    } else {
      plan.cells.push_back(std::move(cell));
      plan.places.push_back(place);
    }
  }
  return plan;
}

std::vector<int> chosen_devices(const SuiteOptions& options, const machine::Machine& machine) {
  if (!options.devices.empty()) return options.devices;
  std::vector<int> devices;
  for (const auto& gpu : machine.gpus) devices.push_back(gpu.index);
  return devices;
}

std::vector<int> devices_of(const Cell& cell, std::vector<int> chosen) {
  if (cell.device != "cuda") return {};
  const auto each = static_cast<std::size_t>(machine::ranks_per_node(cell));
  if (chosen.size() > each) chosen.resize(each);
  return chosen;
}

}  // namespace stepgauge::cli
