#include "config/cell_draft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/reader.hpp"

namespace stepgauge::config {
namespace {

const WorkloadValue& workload_of(const CellDraft& draft) {
  return std::get<WorkloadValue>(draft.at(Axis::workload)->data);
}

void set_text(const CellDraft& draft, Axis axis, std::string& field, const char* fallback) {
  const auto* value = draft.at(axis);
  if (value == nullptr) {
    field = fallback;
  } else {
    field = std::get<std::string>(value->data);
  }
}

std::int64_t integer_of(const CellDraft& draft, Axis axis, std::int64_t fallback) {
  const auto* value = draft.at(axis);
  return value == nullptr ? fallback : std::get<std::int64_t>(value->data);
}

/// A size written with the workload wins over one from an earlier level, and the other way round.
bool axis_sets_size(const CellDraft& draft, Axis axis) {
  const auto* value = draft.at(axis);
  if (value == nullptr || !uses_shape(draft, axis)) return false;
  const bool written_with_workload = workload_of(draft).given.count(std::string(axis_name(axis))) > 0;
  return !written_with_workload || value->level > draft.at(Axis::workload)->level;
}

void fill_optimizer(const CellDraft& draft, Cell& cell) {
  static const OptimizerValue nothing;
  const auto* value = draft.at(Axis::optimizer);
  const auto& asked = value == nullptr ? nothing : std::get<OptimizerValue>(value->data);
  auto& optimizer = cell.optimizer;
  optimizer.name = asked.name.value_or(workload_of(draft).family->optimizer);
  const bool is_adamw = optimizer.name == "adamw";
  optimizer.lr = asked.lr.value_or(is_adamw ? 1e-4 : 0.1);
  optimizer.momentum = is_adamw ? 0 : asked.momentum.value_or(0.9);
  optimizer.weight_decay = asked.weight_decay.value_or(is_adamw ? 0.01 : 0.0);
}

/// Options that each kind of mode has, as they are written in a suite.
const std::vector<std::string>& options_of(const std::string& mode) {
  static const std::vector<std::string> none, torchscript{"executor"},
      compiled{"fullgraph", "dynamic", "ddp_optimizer", "compiled_autograd", "compile_optimizer"};
  if (mode == "torchscript") return torchscript;
  return has_compile_caches(mode) ? compiled : none;
}

void fill_compile(const CellDraft& draft, Cell& cell) {
  static const CompileValue nothing;
  const auto* value = draft.at(Axis::compile);
  const auto& asked = value == nullptr ? nothing : std::get<CompileValue>(value->data);
  const CellCompileOptions standard;
  cell.compile = asked.mode.value_or("eager");
  auto& options = cell.compile_options;
  options.executor = asked.executor.value_or(standard.executor);
  options.fullgraph = asked.fullgraph.value_or(standard.fullgraph);
  options.dynamic = asked.dynamic.value_or(standard.dynamic);
  options.ddp_optimizer = asked.ddp_optimizer.value_or(standard.ddp_optimizer);
  options.compiled_autograd = asked.compiled_autograd.value_or(standard.compiled_autograd);
  options.compile_optimizer = asked.compile_optimizer.value_or(standard.compile_optimizer);
  // A mode without compile caches is the same cell whether they are asked cold or warm: its identity must not split.
  cell.cache.clear();
  if (has_compile_caches(cell.compile)) set_text(draft, Axis::cache, cell.cache, "cold");
}

void check_compile(const CellDraft& draft, const Cell& cell) {
  const auto* value = draft.at(Axis::compile);
  if (value == nullptr) return;
  const auto& known = options_of(cell.compile);
  for (const auto& [option, mark] : std::get<CompileValue>(value->data).marks) {
    if (std::find(known.begin(), known.end(), option) != known.end()) continue;
    const auto has = known.empty() ? "no options" : fmt::format("{}", fmt::join(known, ", "));
    fail(mark, fmt::format("compile: mode \"{}\" has no option \"{}\"; it has {}", cell.compile, option, has));
  }
}

void fill_ddp(const CellDraft& draft, Cell& cell) {
  static const DdpValue nothing;
  const auto* value = draft.at(Axis::ddp);
  const auto& asked = value == nullptr ? nothing : std::get<DdpValue>(value->data);
  const CellDdp standard;
  auto& ddp = cell.ddp;
  ddp.ranks = asked.ranks.value_or(1);
  ddp.backend = asked.backend.value_or(cell.device == "cuda" ? "nccl" : "gloo");
  // One rank has nobody to talk to: a transport from the defaults must not split its identity.
  ddp.transport = ddp.ranks == 1 ? standard.transport : asked.transport.value_or(standard.transport);
  ddp.bucket_cap_mb = asked.bucket_cap_mb.value_or(standard.bucket_cap_mb);
  ddp.first_bucket_mb = asked.first_bucket_mb.value_or(standard.first_bucket_mb);
  ddp.gradient_as_bucket_view = asked.gradient_as_bucket_view.value_or(standard.gradient_as_bucket_view);
  ddp.find_unused = asked.find_unused.value_or(standard.find_unused);
  ddp.static_graph = asked.static_graph.value_or(standard.static_graph);
  ddp.nodes = asked.nodes.value_or(standard.nodes);
  ddp.interface = asked.interface.value_or(standard.interface);
  ddp.oversubscribe = asked.oversubscribe.value_or(standard.oversubscribe);
  // Who wraps is a question of Python programs of several ranks alone; like the transport, it must not split others.
  ddp.wrapper = is_python_mode(cell.compile) && ddp.ranks > 1 ? asked.wrapper.value_or("torch") : "";
}

void check_shape(const CellDraft& draft, Axis axis) {
  const auto* value = draft.at(axis);
  if (value == nullptr || !uses_shape(draft, axis)) return;
  const std::string name(axis_name(axis));
  const auto& workload = workload_of(draft);
  if (workload.given.count(name) > 0 && value->level == draft.at(Axis::workload)->level) {
    fail(value->mark, fmt::format("{0}: given twice, here and in the workload at {1}; keep one", name,
                                  place(draft.at(Axis::workload)->mark)));
  }
  if (!axis_sets_size(draft, axis)) return;
  const auto& size = workload.family->sizes.at(name);
  const auto asked = std::get<std::int64_t>(value->data);
  if (asked < size.min.value_or(1) || asked > size.max.value_or(1 << 30)) {
    fail(value->mark, fmt::format("{}: expected an integer from {} to {} for {}, found {}", name, size.min.value_or(1),
                                  size.max.value_or(1 << 30), workload.workload.name, asked));
  }
}

void check_ddp(const CellDraft& draft, const Cell& cell) {
  const auto* value = draft.at(Axis::ddp);
  if (value == nullptr) return;
  const auto& asked = std::get<DdpValue>(value->data);
  if (cell.device == "cpu" && cell.ddp.backend == "nccl")
    fail(asked.backend_mark, "ddp.backend: \"nccl\" needs device cuda; a cpu cell has \"gloo\"");
  if (cell.ddp.ranks % cell.ddp.nodes != 0) {
    fail(asked.nodes_mark,
         fmt::format("ddp.nodes: {} ranks cannot be spread evenly over {} nodes", cell.ddp.ranks, cell.ddp.nodes));
  }
  if (cell.ddp.transport != "auto" && cell.ddp.backend != "nccl") {
    fail(asked.transport_mark, fmt::format("ddp.transport: \"{}\" is a setting of nccl; this cell ({}) has \"{}\"",
                                           cell.ddp.transport, cell.device, cell.ddp.backend));
  }
}

}  // namespace

bool uses_shape(const CellDraft& draft, Axis axis) {
  return workload_of(draft).family->shape_axis == axis_name(axis);
}

void fill_cell(const CellDraft& draft, Cell& cell) {
  cell.workload = workload_of(draft).workload;
  for (const auto axis : {Axis::image, Axis::sequence}) {
    if (axis_sets_size(draft, axis))
      cell.workload.sizes[std::string(axis_name(axis))] = std::get<std::int64_t>(draft.at(axis)->data);
  }
  cell.batch = integer_of(draft, Axis::batch, 1);
  cell.seed = integer_of(draft, Axis::seed, 0);
  set_text(draft, Axis::worker, cell.worker, "stepgauge");
  set_text(draft, Axis::device, cell.device, "cuda");
  set_text(draft, Axis::precision, cell.precision, "fp32");
  fill_compile(draft, cell);
  set_text(draft, Axis::checkpointing, cell.checkpointing, "none");
  set_text(draft, Axis::memory_format, cell.memory_format, "contiguous");
  set_text(draft, Axis::input, cell.input, "fixed");
  fill_optimizer(draft, cell);
  fill_ddp(draft, cell);
  const auto* env = draft.at(Axis::env);
  cell.env = env == nullptr ? EnvValue{} : std::get<EnvValue>(env->data);
  const auto* perturb = draft.at(Axis::perturb);
  cell.perturb = perturb == nullptr ? CellPerturb{} : std::get<PerturbValue>(perturb->data).perturb;
}

void check_cell(const CellDraft& draft, const Cell& cell) {
  check_shape(draft, Axis::image);
  check_shape(draft, Axis::sequence);
  check_compile(draft, cell);
  check_ddp(draft, cell);
  if (const auto* format = draft.at(Axis::memory_format)) {
    const auto& known = workload_of(draft).family->memory_formats;
    if (std::find(known.begin(), known.end(), cell.memory_format) == known.end()) {
      fail(format->mark, fmt::format("memory_format: {} takes {}, found \"{}\"", cell.workload.name,
                                     fmt::join(known, ", "), cell.memory_format));
    }
  }
  if (const auto* value = draft.at(Axis::optimizer)) {
    const auto& asked = std::get<OptimizerValue>(value->data);
    if (asked.name == "adamw" && asked.momentum)
      fail(asked.momentum_mark, "optimizer.momentum: adamw has none; it belongs to sgd");
  }
  if (cell.perturb.fault && cell.perturb.fault->rank >= cell.ddp.ranks) {
    fail(std::get<PerturbValue>(draft.at(Axis::perturb)->data).fault_rank_mark,
         fmt::format("perturb.fault.rank: expected a rank below {}, the cell's number of ranks, found {}",
                     cell.ddp.ranks, cell.perturb.fault->rank));
  }
}

}  // namespace stepgauge::config
