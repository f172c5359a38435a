#include <optional>

#include "worker/device.hpp"
#include "worker/optimizer.hpp"
#include "worker/parallel/ddp.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/precision/precision.hpp"
#include "worker/step_program.hpp"

namespace stepgauge::worker {
namespace {

torch::Generator make_generator(torch::Device device, std::uint64_t seed) {
  auto generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generator;
}

/// Four-dimensional weights in channels_last, as Module.to(memory_format=...) does in Python.
void to_channels_last(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

}  // namespace

struct EagerProgram::State {
  Cell cell;
  const workloads::Workload& workload;
  torch::Device device;
  PrecisionPolicy policy;
  std::shared_ptr<workloads::Model> model;
  torch::Generator data;
  workloads::Batch batch;
  std::unique_ptr<FusedOptimizer> optimizer;
  std::unique_ptr<DataParallel> parallel;
  std::unique_ptr<LossScaler> scaler;
  torch::Dtype loss_type = torch::kFloat32;

  workloads::Batch draw() {
    auto out = workload.make_batch(cell.batch, device, policy.input, data);
    if (cell.memory_format == "channels_last" && out.input.dim() == 4)
      out.input = out.input.contiguous(at::MemoryFormat::ChannelsLast);
    return out;
  }
};

EagerProgram::EagerProgram(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank) {
  const auto device = room.device();
  const auto seed = static_cast<std::uint64_t>(cell.seed);
  state_.reset(new State{cell,
                         workload,
                         device,
                         make_precision_policy(cell.precision, device),
                         nullptr,
                         make_generator(device, seed * 1000003 + 17 + static_cast<std::uint64_t>(rank)),
                         {},
                         nullptr,
                         nullptr,
                         nullptr});
  apply_switches(state_->policy, device);
  const auto options = torch::TensorOptions().device(device).dtype(state_->policy.parameters);
  state_->model = workload.build(options, make_generator(device, seed));
  state_->model->train();
  if (cell.memory_format == "channels_last") to_channels_last(*state_->model);
  state_->batch = state_->draw();
  state_->optimizer = make_optimizer(cell.optimizer, state_->model->parameters());
  if (state_->policy.loss_scaling) state_->scaler = std::make_unique<LossScaler>(device);
}

EagerProgram::~EagerProgram() = default;

void EagerProgram::wrap(RankGroup& group) {
  state_->parallel = std::make_unique<DataParallel>(*state_->model, group.group(), state_->cell.ddp);
}

torch::Tensor EagerProgram::step() {
  auto& s = *state_;
  if (s.cell.input == "fresh") {
    mark("input");
    s.batch = s.draw();
  }
  mark("forward");
  s.optimizer->clear_gradients();
  torch::Tensor loss;
  {
    const AutocastScope autocast(s.device, s.policy.autocast);
    if (s.parallel) s.parallel->before_forward();
    loss = s.model->loss(s.batch);
  }
  mark("backward");
  auto root = s.scaler ? s.scaler->scale(loss) : loss;
  if (s.parallel) root = s.parallel->before_backward(root);
  root.backward();
  mark("optimizer");
  s.optimizer->step(s.scaler.get());
  return loss.detach();
}

std::vector<std::int64_t> EagerProgram::bucket_bytes() const {
  return state_->parallel ? state_->parallel->bucket_bytes() : std::vector<std::int64_t>{};
}

Json EagerProgram::settings() const {
  const auto& s = *state_;
  const auto parameter = s.model->parameters().front();
  Json used{{"parameter_type", c10::toString(parameter.scalar_type())},
            {"gradient_type",
             parameter.grad().defined() ? Json(c10::toString(parameter.grad().scalar_type())) : Json(nullptr)},
            {"input_type", c10::toString(s.batch.input.scalar_type())},
            {"switches", read_switches(s.device)}};
  if (s.batch.input.dim() == 4) {
    used["memory_format"] =
        s.batch.input.is_contiguous(at::MemoryFormat::ChannelsLast) ? "channels_last" : "contiguous";
  }
  if (s.parallel) used["bucket_bytes"] = bucket_bytes();
  Json set{{"autocast", s.policy.autocast ? Json(c10::toString(*s.policy.autocast)) : Json(nullptr)},
           {"tf32", s.policy.tf32},
           {"loss_scaling", s.policy.loss_scaling}};
  Json asked{
      {"precision", s.cell.precision}, {"memory_format", s.cell.memory_format}, {"transport", s.cell.ddp.transport}};
  return {{"asked", asked}, {"set", set}, {"used", used}};
}

}  // namespace stepgauge::worker
