#pragma once
// What compiled modes and the comparison with the eager reference leave in the rank records, as metrics, and what of it
// a launch is judged by.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "contract/record.hpp"

namespace stepgauge::summary {

struct ModeMetrics {
  std::map<std::string, double> metrics;      ///< in the units of the catalogue
  std::map<std::string, std::string> absent;  ///< the others of them: metric -> reason
};

/// compile_time, graph_captures, graph_breaks, recompiles, graph_pools, ir_nodes, ir_memory, loss_error: each as a
/// number or with its reason.
ModeMetrics mode_metrics(const Cell& cell, const std::vector<RankRecord>& ranks);

/// The intermediate representation that stands for a mode, as the census names it: "torchscript.optimised", "dynamo",
/// "export", "cuda_graph"; empty for modes that have none.
std::string main_ir(const std::string& compile);

/// What the pools of captured graphs hold on a rank, MiB; nullopt where nobody said.
std::optional<double> graph_pools_mib(const RankRecord& rank);

/// Why the measured steps are not those of one compiled program: a capture or a recompile behind the warm-up, with
/// function, line and guard; empty when there was none.
std::string late_compilation(const std::vector<RankRecord>& ranks);

/// Whether a launch is unsteady because it compiled in its measured steps: it would again, however often it is made.
bool compiled_late(const LaunchRecord& record);

/// The rank whose comparison with the reference is the worst: one that does not agree, else the largest loss error;
/// nullptr when none was compared.
const RankRecord* worst_parity(const std::vector<RankRecord>& ranks);

/// "step 1: loss 2.3 against 2.1" of a rank that does not agree with the reference; empty when all do.
std::string disagreement(const std::vector<RankRecord>& ranks);

}  // namespace stepgauge::summary
