#include "worker/compile/python_program.hpp"

namespace stepgauge::worker {

PythonProgram::PythonProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room,
                             const ProgramOptions& options)
    : cell_(cell),
      workload_(workload),
      device_(room.device()),
      policy_(make_precision_policy(cell.precision, device_)),
      graphs_(!options.graphs_path.empty()),
      data_(cell, workload, device_, policy_.input, options.rank) {
  apply_switches(policy_, device_);
  const auto model = build_model(cell_, workload_, device_, policy_.parameters);
  blocks_ = model->blocks();
  engine_ = make_python_engine(cell_, device_, named_parameters(*model), named_buffers(*model),
                               {{"rank", options.rank},
                                {"world_size", options.world_size},
                                {"graphs_path", graphs_ ? Json(options.graphs_path) : Json(nullptr)}});
  use(data_.draw());
}

void PythonProgram::wrap(RankGroup& group) {
  if (cell_.ddp.wrapper == "reducer") {
    reducer_ = std::make_unique<DataParallel>(engine_->parameters(), engine_->buffers(), group.group(), cell_.ddp);
  } else {
    engine_->wrap(group.group());
  }
}

torch::Tensor PythonProgram::step() {
  if (data_.every_step()) {
    mark("input");
    use(data_.draw());
  }
  return reducer_ ? step_with_reducer() : engine_->step(marks());
}

torch::Tensor PythonProgram::step_with_reducer() {
  mark("forward");
  engine_->clear_gradients();
  reducer_->begin_step();
  reducer_->before_forward();
  auto loss = engine_->forward();
  mark("backward");
  reducer_->before_backward(engine_->scaled(loss)).backward();
  mark("optimizer");
  engine_->optimizer_step();
  return loss.detach();
}

void PythonProgram::end_of_warmup() {
  engine_->mark_late();
}

void PythonProgram::restart() {
  const auto model = build_model(cell_, workload_, device_, policy_.parameters);
  engine_->reset(named_parameters(*model), named_buffers(*model));
}

void PythonProgram::set_batch(const workloads::Batch& batch) {
  data_.give_way();
  use(batch);
}

void PythonProgram::use(const workloads::Batch& batch) {
  batch_ = batch;
  engine_->set_batch(batch);
}

Json PythonProgram::settings() const {
  auto out =
      program_settings(cell_, policy_, device_, engine_->parameters().front().second, batch_.input, bucket_bytes());
  const auto more = engine_->settings();
  for (const auto* part : {"asked", "set", "used"}) {
    if (more.contains(part)) out[part].update(more.at(part));
  }
  return out;
}

Json PythonProgram::compile_report() const {
  return has_compile_caches(cell_.compile) ? engine_->report() : Json(nullptr);
}

void PythonProgram::finish() {
  if (graphs_) engine_->write_graphs();
  if (has_compile_caches(cell_.compile)) engine_->stamp_cache();
}

std::vector<std::int64_t> PythonProgram::bucket_bytes() const {
  return reducer_ ? reducer_->bucket_bytes() : std::vector<std::int64_t>{};
}

}  // namespace stepgauge::worker
