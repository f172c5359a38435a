#include "worker/compile/graph_program.hpp"

#include <chrono>

#include "contract/clock.hpp"

namespace stepgauge::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int eager_steps = 12;  ///< DDP's Reducer records events in its first ten; eleven at least, says PyTorch

}  // namespace

GraphProgram::GraphProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank)
    : EagerProgram(cell, workload, room, rank),
      room_(room),
      mode_(cell.compile),
      whole_(cell.compile == "cuda_graph") {}

void GraphProgram::wrap(RankGroup& group) {
  group_ = &group;
  EagerProgram::wrap(group);
}

void GraphProgram::prepare() {
  auto start = Clock::now();
  for (int i = 0; i < eager_steps; ++i) EagerProgram::step();
  room_.synchronize();
  warmup_s_ = seconds_since(start);
  start = Clock::now();
  room_.release_cache();  // the graph's pool takes nothing from what the eager steps left in the allocator's
  const auto before = group_ != nullptr ? group_->traffic() : TrafficByKind();
  plain_ = capture();
  if (group_ != nullptr) traffic_ = group_->traffic() - before;
  capture_s_ = seconds_since(start);
  restart();
}

GraphProgram::Captured GraphProgram::capture() {
  Captured out;
  out.graph = room_.make_graph();
  room_.synchronize();
  out.graph->capture([&] {
    out.loss = training_.forward_backward(mark_);
    if (whole_) training_.optimizer_step(mark_);
  });
  for (const auto& [name, parameter] : parameters()) out.gradients.push_back(parameter.grad());
  installed_ = &out.gradients.front();
  return out;
}

void GraphProgram::install(const Captured& captured) {
  if (installed_ == &captured.gradients.front()) return;
  auto next = captured.gradients.begin();
  for (auto& [name, parameter] : parameters()) parameter.mutable_grad() = *next++;
  installed_ = &captured.gradients.front();
}

torch::Tensor GraphProgram::step() {
  training_.next_batch(mark_);
  const bool in_order = marks() != nullptr && marks()->in_device_order();
  auto& captured = in_order ? marked_ : reduces_ ? plain_ : unreduced_;
  if (!in_order) mark("replay");
  if (in_order && group_ != nullptr) group_->trace_log().repeat_captured();
  install(captured);
  captured.graph->replay();
  if (!whole_) training_.optimizer_step(mark_);
  return captured.loss;
}

void GraphProgram::set_marks(StepMarks* marks) {
  EagerProgram::set_marks(marks);
  if (marks == nullptr || !marks->in_device_order() || marked_.graph != nullptr) return;
  if (group_ != nullptr) group_->trace_log().begin_capture();
  marked_ = capture();
  if (group_ != nullptr) group_->trace_log().end_capture();
}

bool GraphProgram::set_reduction(bool on) {
  if (!EagerProgram::set_reduction(on)) return false;
  reduces_ = on;
  if (!on && unreduced_.graph == nullptr) unreduced_ = capture();
  return true;
}

Json GraphProgram::compile_report() const {
  return {{"mode", mode_},
          {"options", Json::object()},
          {"captures", 1},
          {"captures_late", 0},
          {"graph_breaks", Json::array()},
          {"recompiles", Json::array()},
          {"stages_s", {{"warmup", warmup_s_}, {"capture", capture_s_}}},
          {"compile_s", warmup_s_ + capture_s_},
          {"graph_nodes", plain_.graph ? plain_.graph->node_kinds().at("all") : 0}};
}

Json GraphProgram::ir_census() {
  auto kinds = plain_.graph->node_kinds();
  const auto all = kinds.at("all");
  kinds.erase("all");
  return Json::array(
      {{{"ir", "cuda_graph"},
        {"nodes", all},
        {"kinds", kinds},
        {"memory_mib", nullptr},
        {"rss_mib", nullptr},
        {"seconds", capture_s_},
        {"method", "nodes of the captured graph by kind (cudaGraphGetNodes); its pools are graph_pools"}}});
}

}  // namespace stepgauge::worker
