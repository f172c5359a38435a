#pragma once
// What one side of a gate measures: `--base` and `--head`.
#include <string>
#include <vector>

#include "cli/suite_options.hpp"
#include "config/node.hpp"

namespace stepgauge::cli {

/// An arm is the suite as it is, with another worker, or with settings of its own.
struct Arm {
  std::string name;                  ///< "base" or "head"
  std::vector<std::string> forms;    ///< as written
  std::vector<std::string> workers;  ///< as SuiteOptions::workers
  std::vector<std::string> entries;  ///< "KEY=VALUE" of env: and set: forms, in the words of a suite
  config::NodePtr settings;          ///< the same as a tree, config/variant.hpp; null: none
  std::vector<std::string> at;       ///< globs on the cells that have the settings; empty: all

  std::string text() const;  ///< the forms, for people
};

/// Each form is one of: "self"; "worker:CMD" or "worker:NAME=CMD"; "container:IMAGE [PROGRAM ARGS]"; a path to a
/// program, or to a build folder that holds bin/stepgauge-worker; "env:NAME=VALUE[,NAME=VALUE...]"; "set:KEY=VALUE" in
/// the words of a suite; "at:GLOB" on cell ids, where settings and variables of the arm hold for these cells alone.
/// Several add up. Throws ConfigError for anything else, saying what there is.
Arm parse_arm(const std::string& name, const std::vector<std::string>& forms);

/// The suite as the arm has it, with that many launches a cell. Throws as make_plan.
Plan arm_plan(const Arm& arm, SuiteOptions suite, int launches, const std::string& program_name);

/// The forms of an arm, for help texts.
inline constexpr const char* arm_forms =
    "self, worker:CMD, container:IMAGE [PROGRAM ARGS], a program, a build folder, env:NAME=VALUE[,..], set:KEY=VALUE, "
    "at:GLOB (cells that have the "
    "settings); may be given several times";

}  // namespace stepgauge::cli
