#pragma once
// One function per command: adds it to the program and says what it does when chosen. The exit code is left in `code`.
#include <CLI/CLI.hpp>

#include "contract/status.hpp"

namespace stepgauge::cli {

struct Program {
  CLI::App app{"stepgauge: benchmarks and regression tests for distributed training"};
  std::string name;                    ///< argv[0]
  std::vector<std::string> arguments;  ///< argv, as recorded with a run
  ExitCode code = ExitCode::nothing_worse;
};

void add_list(Program& program);
void add_run(Program& program);
void add_report(Program& program);
void add_compare(Program& program);
void add_gate(Program& program);
void add_calibrate(Program& program);
void add_plan(Program& program);
void add_selftest(Program& program);
void add_why(Program& program);
void add_bisect(Program& program);
void add_baseline(Program& program);
void add_history(Program& program);
void add_doctor(Program& program);
void add_schema(Program& program);
void add_trace(Program& program);
void add_graph(Program& program);
void add_replay(Program& program);
void add_merge(Program& program);
void add_rank_agent(Program& program);

}  // namespace stepgauge::cli
