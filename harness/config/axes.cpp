#include "config/axes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/reader.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config {

const std::vector<std::string>& axis_names() {
  static const std::vector<std::string> names{
      "workload",      "batch", "image",     "sequence", "precision", "compile", "cache", "checkpointing", "ddp",
      "memory_format", "input", "optimizer", "device",   "worker",    "env",     "seed",  "perturb"};
  return names;
}

std::string_view axis_name(Axis axis) {
  return axis_names().at(static_cast<std::size_t>(axis));
}

std::optional<Axis> axis_from_name(std::string_view name) {
  const auto& names = axis_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Axis>(it - names.begin());
}

std::vector<std::string> axis_choices(Axis axis) {
  switch (axis) {
    case Axis::precision:
      return known_precisions();
    case Axis::compile:
      return known_compile_modes();
    case Axis::cache:
      return {"cold", "warm"};
    case Axis::checkpointing:
      return known_checkpointing();
    case Axis::input:
      return {"fixed", "fresh", "skewed"};
    case Axis::device:
      return {"cuda", "cpu"};
    case Axis::memory_format: {
      std::vector<std::string> names;
      for (const auto& family : workload_families()) {
        for (const auto& name : family.memory_formats) {
          if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
      }
      return names;
    }
    default:
      return {};
  }
}

AxisValue read_axis_value(Axis axis, const Node& node, const std::string& where, int level,
                          const std::vector<std::string>& workers) {
  AxisValue value{axis, node.mark, level, {}};
  switch (axis) {
    case Axis::workload:
      value.data = detail::read_workload(node, where);
      break;
    case Axis::batch:
      value.data = read_integer(node, where, 1, 1'000'000);
      break;
    case Axis::image:
    case Axis::sequence:
      value.data = read_integer(node, where, 1, 1 << 30);
      break;
    case Axis::seed:
      value.data = read_integer(node, where, 0, std::int64_t{1} << 53);
      break;
    case Axis::compile:
      value.data = detail::read_compile(node, where);
      break;
    case Axis::checkpointing:
      value.data = detail::read_checkpointing(node, where);
      break;
    case Axis::ddp:
      value.data = detail::read_ddp(node, where);
      break;
    case Axis::optimizer:
      value.data = detail::read_optimizer(node, where);
      break;
    case Axis::env:
      value.data = detail::read_env(node, where);
      break;
    case Axis::perturb:
      value.data = detail::read_perturb(node, where);
      break;
    case Axis::worker: {
      std::vector<std::string> known{"stepgauge"};
      known.insert(known.end(), workers.begin(), workers.end());
      value.data = read_choice(node, where, known);
      break;
    }
    default: {
      if (axis == Axis::device && node.text == "gpu")
        fail(node.mark, fmt::format("{}: unknown value \"gpu\"; a GPU is \"cuda\"", where));
      const auto choices = axis_choices(axis);
      value.data = read_choice(node, where, choices);
    }
  }
  return value;
}

namespace {

template <typename T>
void fill_gap(std::optional<T>& value, const std::optional<T>& base) {
  if (!value) value = base;
}

void complete_compile(CompileValue& over, const CompileValue& base) {
  if (over.mode && over.mode != base.mode) return;
  over.mode = base.mode;
  fill_gap(over.executor, base.executor);
  fill_gap(over.dynamic, base.dynamic);
  fill_gap(over.fullgraph, base.fullgraph);
  fill_gap(over.ddp_optimizer, base.ddp_optimizer);
  fill_gap(over.compiled_autograd, base.compiled_autograd);
  fill_gap(over.compile_optimizer, base.compile_optimizer);
  over.marks.insert(base.marks.begin(), base.marks.end());
}

void complete_ddp(DdpValue& over, const DdpValue& base) {
  // Two of the three numbers give the third: one of the defaults must not contradict what is written here.
  const int written = over.ranks.has_value() + over.nodes.has_value() + over.ranks_per_node.has_value();
  if (written < 2) {
    if (!over.ranks_per_node) fill_gap(over.nodes, base.nodes);
    if (!over.ranks && !(over.nodes && over.ranks_per_node)) fill_gap(over.ranks, base.ranks);
    if (!(over.ranks && over.nodes)) fill_gap(over.ranks_per_node, base.ranks_per_node);
  }
  fill_gap(over.oversubscribe, base.oversubscribe);
  fill_gap(over.interface, base.interface);
  fill_gap(over.algorithm, base.algorithm);
  fill_gap(over.protocol, base.protocol);
  fill_gap(over.channels, base.channels);
  fill_gap(over.topology_file, base.topology_file);
  fill_gap(over.overlap, base.overlap);
  fill_gap(over.hook, base.hook);
  fill_gap(over.hook_share, base.hook_share);
  fill_gap(over.hook_rank, base.hook_rank);
  fill_gap(over.error_feedback, base.error_feedback);
  over.marks.insert(base.marks.begin(), base.marks.end());
  fill_gap(over.bucket_cap_mb, base.bucket_cap_mb);
  fill_gap(over.first_bucket_mb, base.first_bucket_mb);
  fill_gap(over.gradient_as_bucket_view, base.gradient_as_bucket_view);
  fill_gap(over.find_unused, base.find_unused);
  fill_gap(over.static_graph, base.static_graph);
  fill_gap(over.wrapper, base.wrapper);
  if (!over.backend) {
    over.backend = base.backend;
    over.backend_mark = base.backend_mark;
  }
  fill_gap(over.transport, base.transport);
}

void complete_optimizer(OptimizerValue& over, const OptimizerValue& base) {
  if (over.name && over.name != base.name) return;
  over.name = base.name;
  fill_gap(over.lr, base.lr);
  fill_gap(over.weight_decay, base.weight_decay);
  if (!over.momentum) {
    over.momentum = base.momentum;
    over.momentum_mark = base.momentum_mark;
  }
}

}  // namespace

AxisValue completed(AxisValue over, const AxisValue* base) {
  if (base == nullptr) return over;
  if (auto* compile = std::get_if<CompileValue>(&over.data))
    complete_compile(*compile, std::get<CompileValue>(base->data));
  if (auto* ddp = std::get_if<DdpValue>(&over.data)) complete_ddp(*ddp, std::get<DdpValue>(base->data));
  if (auto* optimizer = std::get_if<OptimizerValue>(&over.data))
    complete_optimizer(*optimizer, std::get<OptimizerValue>(base->data));
  if (auto* env = std::get_if<EnvValue>(&over.data)) {
    const auto& known = std::get<EnvValue>(base->data);
    env->insert(known.begin(), known.end());
  }
  return over;
}

}  // namespace stepgauge::config
