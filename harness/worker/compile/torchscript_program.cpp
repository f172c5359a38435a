#include "worker/compile/torchscript_program.hpp"

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <chrono>

#include "worker/compile/process_memory.hpp"

namespace stepgauge::worker {
namespace {

using torch::jit::Graph;
using Clock = std::chrono::steady_clock;

void count_nodes(const torch::jit::Block& block, std::map<std::string, std::int64_t>& kinds) {
  for (const auto* node : block.nodes()) {
    ++kinds[node->kind().toQualString()];
    for (const auto* inner : node->blocks()) count_nodes(*inner, kinds);
    // Differentiable and fused parts are graphs of their own behind one node.
    if (node->hasAttribute(torch::jit::attr::Subgraph))
      count_nodes(*node->g(torch::jit::attr::Subgraph)->block(), kinds);
  }
}

Json census_row(const char* name, const Graph& graph, const std::string& method) {
  std::map<std::string, std::int64_t> kinds;
  count_nodes(*graph.block(), kinds);
  std::int64_t nodes = 0;
  for (const auto& [kind, count] : kinds) nodes += count;
  return {{"ir", name},         {"nodes", nodes},  {"kinds", kinds}, {"memory_mib", nullptr},
          {"rss_mib", nullptr}, {"method", method}};
}

/// A parameter's name as an attribute's.
std::string attribute_name(std::string name) {
  for (auto& c : name) {
    if (c == '.') c = '_';
  }
  return "p_" + name;
}

Json node_json(const torch::jit::Node& node) {
  Json out{{"name", node.outputs().empty() ? std::string() : node.outputs().front()->debugName()},
           {"op", "node"},
           {"target", node.kind().toQualString()},
           {"shape", nullptr},
           {"dtype", nullptr}};
  auto inputs = Json::array();
  for (const auto* input : node.inputs()) inputs.push_back(input->debugName());
  out["inputs"] = inputs;
  out["file"] = nullptr;  // the tracer runs C++: there is no source line
  out["line"] = nullptr;
  out["function"] = node.scopeName();
  if (node.outputs().empty()) return out;
  const auto type = node.outputs().front()->type()->cast<c10::TensorType>();
  if (type == nullptr) return out;
  if (const auto sizes = type->sizes().concrete_sizes()) out["shape"] = *sizes;
  if (const auto dtype = type->scalarType()) out["dtype"] = c10::toString(*dtype);
  return out;
}

}  // namespace

TorchScriptProgram::TorchScriptProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room,
                                       const ProgramOptions& options)
    : EagerProgram(cell, workload, room, options.rank),
      options_(cell.compile_options),
      cell_id_(cell.id),
      mode_(cell.compile),
      graphs_path_(options.graphs_path) {
  torch::jit::setGraphExecutorOptimize(options_.executor == "profiling");
  torch::jit::setAutocastMode(false);  // the casts that autocast made are nodes of the traced graph
}

void TorchScriptProgram::prepare() {
  const auto start = Clock::now();
  const auto before = ProcessMemory::now();
  torch::jit::Module module("workload");
  for (const auto& [name, tensor] : training_.parameters())
    module.register_parameter(attribute_name(name), tensor, /*is_buffer=*/false);
  for (const auto& [name, tensor] : named_buffers(training_.model()))
    module.register_buffer(attribute_name(name), tensor);
  const auto device = training_.batch().input.device();
  const auto autocast = training_.policy().autocast;
  const auto run = [&](torch::jit::Stack inputs) {
    const workloads::AutocastScope scope(device, autocast);
    return torch::jit::Stack{training_.model().loss({inputs[0].toTensor(), inputs[1].toTensor()})};
  };
  const auto nameless = [](const torch::Tensor&) { return std::string(); };
  const auto traced =
      torch::jit::tracer::trace({training_.batch().input, training_.batch().target}, run, nameless,
                                /*strict=*/true, /*force_outplace=*/false, &module, {"self", "input", "target"});
  raw_ = traced.first->graph->copy();
  auto* function = module._ivalue()->compilation_unit()->create_function("forward", traced.first->graph);
  module.type()->addMethod(function);
  module_ = module;
  training_.set_loss([this](const workloads::Batch& batch) {
    return module_->forward({batch.input, batch.target}).toTensor();
  });
  trace_s_ = std::chrono::duration<double>(Clock::now() - start).count();
  const auto after = ProcessMemory::now();
  trace_heap_mib_ = after.heap_mib - before.heap_mib;
  trace_rss_mib_ = after.rss_mib - before.rss_mib;
  restart();  // tracing ran a forward pass: statistics moved on
}

void TorchScriptProgram::finish() {
  if (!graphs_path_.empty()) write_graphs();
}

Json TorchScriptProgram::compile_report() const {
  std::int64_t nodes = 0;
  if (raw_ != nullptr) nodes = census_row("torchscript.raw", *raw_, "").at("nodes").get<std::int64_t>();
  return {{"mode", mode_},
          {"options", {{"executor", options_.executor}}},
          {"captures", 1},
          {"captures_late", 0},
          {"graph_breaks", Json::array()},
          {"recompiles", Json::array()},
          {"stages_s", {{"trace", trace_s_}}},
          {"compile_s", trace_s_},
          {"graph_nodes", nodes}};
}

Json TorchScriptProgram::ir_census() {
  auto out = Json::array();
  if (raw_ == nullptr) return out;
  auto raw = census_row("torchscript.raw", *raw_,
                        "nodes of the traced graph, blocks and subgraphs included; memory by mallinfo2 and resident "
                        "set around the trace, the graph and the module that holds it");
  raw["memory_mib"] = trace_heap_mib_;
  raw["rss_mib"] = trace_rss_mib_;
  raw["seconds"] = trace_s_;
  out.push_back(raw);
  const auto before = ProcessMemory::now();
  const auto inlined = raw_->copy();
  torch::jit::Inline(*inlined);
  const auto after = ProcessMemory::now();
  auto row = census_row("torchscript.inlined", *inlined,
                        "a copy after torch::jit::Inline; memory by mallinfo2 and resident set around the copy");
  row["memory_mib"] = after.heap_mib - before.heap_mib;
  row["rss_mib"] = after.rss_mib - before.rss_mib;
  out.push_back(row);
  if (const auto optimised = torch::jit::lastExecutedOptimizedGraph()) {
    out.push_back(census_row("torchscript.optimised", *optimised,
                             "the graph that the executor ran last, differentiable and fused subgraphs included; its "
                             "memory cannot be told from the executor's"));
  }
  return out;
}

void TorchScriptProgram::write_graphs() const {
  auto nodes = Json::array();
  for (const auto* node : raw_->nodes()) nodes.push_back(node_json(*node));
  const Json region{{"name", "0"},           {"function", "loss"},     {"file", nullptr}, {"line", nullptr},
                    {"kind", "torchscript"}, {"ended", "whole frame"}, {"nodes", nodes}};
  write_text_file(graphs_path_, dump_line({{"schema", "stepgauge.graphs"},
                                           {"version", 1},
                                           {"cell_id", cell_id_},
                                           {"mode", mode_},
                                           {"regions", Json::array({region})}}));
}

}  // namespace stepgauge::worker
