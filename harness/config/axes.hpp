#pragma once
// The axes of a suite's matrix and their values: read once from the text, then shared by every cell.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/node.hpp"
#include "contract/cell.hpp"
#include "contract/workload_catalogue.hpp"

namespace stepgauge::config {

/// In the order of expansion: the first varies slowest.
enum class Axis {
  workload,
  batch,
  image,
  sequence,
  precision,
  compile,
  cache,
  checkpointing,
  ddp,
  memory_format,
  input,
  optimizer,
  device,
  worker,
  env,
  seed,
  perturb,
};
inline constexpr std::size_t axis_count = 17;

const std::vector<std::string>& axis_names();
std::string_view axis_name(Axis axis);
std::optional<Axis> axis_from_name(std::string_view name);
/// Names that a choice axis (precision, compile, cache, device, ...) takes; empty for the other axes.
std::vector<std::string> axis_choices(Axis axis);

struct WorkloadValue {
  const WorkloadFamily* family = nullptr;
  CellWorkload workload;        ///< every size resolved
  std::set<std::string> given;  ///< sizes written in the suite
};

/// A mode and those of its options that were written; other options come from the suite's defaults where its mode is
/// the same.
struct CompileValue {
  std::optional<std::string> mode, executor, dynamic;
  std::optional<bool> fullgraph, ddp_optimizer, compiled_autograd, compile_optimizer;
  std::map<std::string, Mark> marks;  ///< of the options that were written
};

/// What was written; the rest comes from the suite's defaults, then from the contract's.
struct DdpValue {
  std::optional<int> ranks, nodes;
  std::optional<std::string> backend, transport, interface, wrapper;
  std::optional<double> bucket_cap_mb, first_bucket_mb;
  std::optional<bool> gradient_as_bucket_view, find_unused, static_graph, oversubscribe;
  Mark backend_mark, transport_mark, nodes_mark;
};

struct OptimizerValue {
  std::optional<std::string> name;
  std::optional<double> lr, momentum, weight_decay;
  Mark momentum_mark;
};

using EnvValue = std::map<std::string, std::string>;

struct PerturbValue {
  CellPerturb perturb;
  Mark fault_rank_mark;
};

/// Where a value stands: a later level wins over an earlier one.
inline constexpr int level_defaults = 0;
inline constexpr int level_matrix = 1;  ///< axes, zip, include; overrides count on from 2

struct AxisValue {
  Axis axis = Axis::workload;
  Mark mark;
  int level = level_matrix;
  std::variant<std::string, std::int64_t, WorkloadValue, CompileValue, DdpValue, OptimizerValue, EnvValue, PerturbValue>
      data;
};

/// Reads one value of an axis. `workers` are the names of the suite's other workers. Throws ConfigError.
AxisValue read_axis_value(Axis axis, const Node& node, const std::string& where, int level,
                          const std::vector<std::string>& workers);

/// `over` completed by what only `base` says: ddp and env key by key, an optimizer where its name and a compile mode
/// where the mode is the same; other axes take `over` as it is.
AxisValue completed(AxisValue over, const AxisValue* base);

namespace detail {
WorkloadValue read_workload(const Node& node, const std::string& where);
CompileValue read_compile(const Node& node, const std::string& where);
/// A value of known_checkpointing(), from its name or from {policy: full, every: 2, reentrant: true}.
std::string read_checkpointing(const Node& node, const std::string& where);
DdpValue read_ddp(const Node& node, const std::string& where);
OptimizerValue read_optimizer(const Node& node, const std::string& where);
EnvValue read_env(const Node& node, const std::string& where);
PerturbValue read_perturb(const Node& node, const std::string& where);
}  // namespace detail

}  // namespace stepgauge::config
