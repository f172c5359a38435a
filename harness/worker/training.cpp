#include "worker/training.hpp"

#include "workloads/layers.hpp"

namespace stepgauge::worker {
namespace {

using workloads::AutocastScope;

/// Four-dimensional weights in channels_last, as Module.to(memory_format=...) does in Python.
void to_channels_last(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

workloads::RecomputePolicy recompute_policy(const Cell& cell) {
  const auto asked = checkpointing_of(cell.checkpointing);
  if (asked.policy == Checkpointing::Policy::none || cell.perturb.wrong == "no_recompute") return {};
  return {asked.every, asked.reentrant};
}

/// Every linear layer but the head, which maps to the logits.
std::vector<workloads::Linear*> fp8_layers(const torch::nn::Module& model) {
  std::vector<workloads::Linear*> out;
  for (const auto& item : model.named_modules("", /*include_self=*/false)) {
    auto* linear = dynamic_cast<workloads::Linear*>(item.value().get());
    if (linear != nullptr && item.key() != "lm_head") out.push_back(linear);
  }
  return out;
}

void use_fp8(const torch::nn::Module& model, const workloads::Batch& batch, bool delayed) {
  constexpr std::int64_t multiple = 16;
  using workloads::Fp8Scaling;
  if (batch.input.numel() % multiple != 0)
    throw UnsupportedCell("fp8 needs batch x sequence to be a multiple of 16, found " +
                          std::to_string(batch.input.numel()));
  for (auto* linear : fp8_layers(model)) {
    const auto& weight = linear->weight();
    if (weight.size(0) % multiple != 0 || weight.size(1) % multiple != 0)
      throw UnsupportedCell("fp8 needs sizes that are multiples of 16, found a linear layer of " +
                            c10::str(weight.sizes()));
    linear->use_fp8(std::make_shared<Fp8Scaling>(delayed ? Fp8Scaling::Recipe::delayed : Fp8Scaling::Recipe::dynamic,
                                                 weight.device()));
  }
}

/// In place, so that a captured program sees it.
void overwrite(workloads::Batch& own, const workloads::Batch& batch) {
  const torch::NoGradGuard no_grad;
  own.input.copy_(batch.input);
  own.target.copy_(batch.target);
}

template <typename Items>
NamedTensors named(const Items& items) {
  NamedTensors out;
  for (const auto& item : items) out.emplace_back(item.key(), item.value());
  return out;
}

}  // namespace

NamedTensors named_parameters(const torch::nn::Module& model) {
  return named(model.named_parameters());
}
NamedTensors named_buffers(const torch::nn::Module& model) {
  return named(model.named_buffers());
}

std::shared_ptr<workloads::Model> build_model(const Cell& cell, const workloads::Workload& workload,
                                              torch::Device device, torch::Dtype dtype) {
  auto model = workload.build(torch::TensorOptions().device(device).dtype(dtype),
                              make_generator(device, static_cast<std::uint64_t>(cell.seed)));
  model->train();
  if (cell.memory_format == "channels_last") to_channels_last(*model);
  return model;
}

Training::Training(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank)
    : cell_(cell),
      workload_(workload),
      device_(room.device()),
      policy_(make_precision_policy(cell.precision, device_)),
      data_(cell, workload, device_, policy_.input, rank),
      micro_steps_(accumulation_steps(cell.ddp.overlap)) {
  apply_switches(policy_, device_);
  model_ = build_model(cell_, workload_, device_, policy_.parameters);
  model_->recomputation().set_policy(recompute_policy(cell_));
  for (int i = 0; i < (data_.every_step() ? micro_steps_ : 1); ++i) batches_.push_back(data_.draw());
  if (policy_.fp8) use_fp8(*model_, batch(), policy_.fp8_delayed);
  optimizer_ = make_optimizer(cell.optimizer, model_->parameters());
  if (policy_.loss_scaling) scaler_ = std::make_unique<LossScaler>(device_);
  loss_ = [this](const workloads::Batch& batch) {
    const AutocastScope autocast(device_, policy_.autocast);
    return model_->loss(batch);
  };
}

void Training::wrap(RankGroup& group) {
  parallel_ = std::make_unique<DataParallel>(
      named_parameters(*model_), model_->buffers(), group.group(), cell_.ddp,
      [this](const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& gradients) {
        optimizer_->step_part(parameters, gradients);
      });
}

void Training::next_batch(const Mark& mark) {
  if (!data_.every_step()) return;
  mark("input");
  const bool stale = stale_input();
  for (auto& own : batches_) {
    const auto drawn = data_.draw();
    if (!stale) overwrite(own, drawn);
  }
}

torch::Tensor Training::forward_backward(const Mark& mark) {
  mark("forward");
  model_->recomputation().begin_step();
  if (backward_left_out()) {
    const auto loss = loss_(batch());
    mark("backward");
    return loss.detach();
  }
  optimizer_->clear_gradients();
  if (parallel_) parallel_->begin_step();
  torch::Tensor total;
  for (int i = 0; i < micro_steps_; ++i) {
    if (i > 0) mark("forward");
    const auto loss = micro_step(batches_[static_cast<std::size_t>(i) % batches_.size()], i + 1 == micro_steps_, mark);
    total = total.defined() ? total + loss : loss;
  }
  return micro_steps_ > 1 ? total / micro_steps_ : total;
}

/// Forward and backward of one batch; in the last one of a step the gradients are reduced.
torch::Tensor Training::micro_step(const workloads::Batch& batch, bool last, const Mark& mark) {
  const bool reduces = parallel_ && reduction_ && last;
  if (reduces) parallel_->before_forward();
  const auto loss = loss_(batch);
  mark("backward");
  auto root = scaler_ ? scaler_->scale(loss) : loss;
  if (micro_steps_ > 1) root = root / micro_steps_;  // gradients add up: the update is the mean's
  if (reduces) root = parallel_->before_backward(root);
  root.backward();
  return loss.detach();
}

/// The planted fault `skip_backward`: from the third step on, the gradients of the second are used again.
bool Training::backward_left_out() {
  return cell_.perturb.wrong == "skip_backward" && steps_++ >= 2;
}

void Training::optimizer_step(const Mark& mark) {
  mark("optimizer");
  if (updates_in_hook()) {
    optimizer_->finish_parts();
  } else {
    optimizer_->step(scaler_.get());
  }
}

bool Training::updates_in_hook() const {
  return parallel_ && reduction_ && cell_.ddp.overlap == "optimizer_in_hook";
}

void Training::set_batch(const workloads::Batch& batch) {
  data_.give_way();
  if (stale_input()) return;
  for (auto& own : batches_) overwrite(own, batch);
}

/// The planted fault `stale_input`: batches behind the first one are not used.
bool Training::stale_input() {
  return batches_set_++ > 0 && cell_.perturb.wrong == "stale_input";
}

void Training::restart() {
  restart_from(*build_model(cell_, workload_, device_, policy_.parameters));
}

void Training::restart_from(const workloads::Model& initial) {
  const torch::NoGradGuard no_grad;
  auto to = model_->parameters(), from = initial.parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
  auto buffers = model_->buffers(), clean = initial.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(clean[i]);
  optimizer_->restart();
  if (parallel_) parallel_->restart();
  if (scaler_) scaler_->restart();
  if (policy_.fp8) {
    for (auto* linear : fp8_layers(*model_)) linear->fp8()->restart();
  }
  steps_ = 0;
}

NamedTensors Training::parameters() const {
  return named_parameters(*model_);
}

bool Training::set_reduction(bool on) {
  reduction_ = on;
  return parallel_ != nullptr;
}

void Training::reduce_alone() {
  parallel_->reduce_alone();
}

std::int64_t Training::hook_state_bytes() const {
  return parallel_ ? parallel_->hook_state_bytes() : 0;
}

std::vector<std::int64_t> Training::bucket_bytes() const {
  return parallel_ ? parallel_->bucket_bytes() : std::vector<std::int64_t>{};
}

Json Training::settings() const {
  return program_settings(cell_, policy_, device_, model_->parameters().front(), batch().input, bucket_bytes());
}

Json program_settings(const Cell& cell, const PrecisionPolicy& policy, torch::Device device,
                      const torch::Tensor& parameter, const torch::Tensor& input,
                      const std::vector<std::int64_t>& bucket_bytes) {
  Json used{{"parameter_type", c10::toString(parameter.scalar_type())},
            {"gradient_type",
             parameter.grad().defined() ? Json(c10::toString(parameter.grad().scalar_type())) : Json(nullptr)},
            {"input_type", c10::toString(input.scalar_type())},
            {"switches", read_switches(device)}};
  if (input.dim() == 4)
    used["memory_format"] = input.is_contiguous(at::MemoryFormat::ChannelsLast) ? "channels_last" : "contiguous";
  if (!bucket_bytes.empty()) used["bucket_bytes"] = bucket_bytes;
  Json set{{"autocast", policy.autocast ? Json(c10::toString(*policy.autocast)) : Json(nullptr)},
           {"tf32", policy.tf32},
           {"loss_scaling", policy.loss_scaling}};
  Json asked{{"precision", cell.precision}, {"memory_format", cell.memory_format}, {"transport", cell.ddp.transport}};
  return {{"asked", asked}, {"set", set}, {"used", used}};
}

}  // namespace stepgauge::worker
