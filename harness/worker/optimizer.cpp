#include "worker/optimizer.hpp"

#include "worker/device.hpp"

namespace stepgauge::worker {
namespace {

class FusedSgd final : public FusedOptimizer {
 public:
  FusedSgd(const CellOptimizer& options, const std::vector<torch::Tensor>& parameters)
      : FusedOptimizer(parameters), options_(options) {
    if (options.momentum == 0) return;
    for (auto& group : groups_) {
      for (const auto& parameter : group.parameters) group.first.push_back(torch::empty_like(parameter));
    }
  }
  void step(LossScaler* scaler) override {
    const torch::NoGradGuard no_grad;
    for (auto& group : groups_) {
      const auto [scale, found] = prepare(group, scaler);
      at::_fused_sgd_(group.parameters, group.gradients, group.first, options_.weight_decay, options_.momentum,
                      options_.lr, 0.0, false, false, first_, scale, found);
    }
    first_ = false;
    if (scaler != nullptr) scaler->update();
  }

 private:
  CellOptimizer options_;
  bool first_ = true;
};

class FusedAdamW final : public FusedOptimizer {
 public:
  FusedAdamW(const CellOptimizer& options, const std::vector<torch::Tensor>& parameters)
      : FusedOptimizer(parameters), options_(options) {
    for (auto& group : groups_) {
      for (const auto& parameter : group.parameters) {
        group.first.push_back(torch::zeros_like(parameter));
        group.second.push_back(torch::zeros_like(parameter));
        group.steps.push_back(torch::zeros({}, parameter.options().dtype(torch::kFloat32)));
      }
    }
  }
  void step(LossScaler* scaler) override {
    const torch::NoGradGuard no_grad;
    for (auto& group : groups_) {
      const auto [scale, found] = prepare(group, scaler);
      at::_foreach_add_(group.steps, 1);
      at::_fused_adamw_(group.parameters, group.gradients, group.first, group.second, {}, group.steps, options_.lr, 0.9,
                        0.999, options_.weight_decay, 1e-8, false, false, scale, found);
      if (found) at::_foreach_sub_(group.steps, std::vector<torch::Tensor>(group.steps.size(), *found));
    }
    if (scaler != nullptr) scaler->update();
  }

 private:
  CellOptimizer options_;
};

}  // namespace

FusedOptimizer::FusedOptimizer(const std::vector<torch::Tensor>& parameters) {
  for (const auto& parameter : parameters) {
    if (!parameter.requires_grad()) continue;
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return g.parameters.front().scalar_type() == parameter.scalar_type();
    });
    if (group == groups_.end()) group = groups_.emplace(groups_.end());
    group->parameters.push_back(parameter);
  }
}

void FusedOptimizer::gather(Group& group) {
  group.gradients.clear();
  for (const auto& parameter : group.parameters) {
    if (!parameter.grad().defined())
      throw std::runtime_error("a parameter of shape " + c10::str(parameter.sizes()) + " has no gradient");
    group.gradients.push_back(parameter.grad());
  }
}

FusedOptimizer::Scaling FusedOptimizer::prepare(Group& group, LossScaler* scaler) {
  gather(group);
  if (scaler == nullptr) return {};
  scaler->inspect(group.gradients);
  return {scaler->factor(), scaler->found_inf()};
}

void FusedOptimizer::clear_gradients() {
  for (auto& group : groups_) {
    for (auto& parameter : group.parameters) parameter.mutable_grad().reset();
  }
}

void FusedOptimizer::restart() {
  for (auto& group : groups_) {
    for (auto* state : {&group.first, &group.second, &group.steps}) {
      for (auto& tensor : *state) tensor.zero_();
    }
  }
}

std::unique_ptr<FusedOptimizer> make_optimizer(const CellOptimizer& options,
                                               const std::vector<torch::Tensor>& parameters) {
  if (options.name == "sgd") return std::make_unique<FusedSgd>(options, parameters);
  if (options.name == "adamw") return std::make_unique<FusedAdamW>(options, parameters);
  throw UnsupportedCell("this worker does not know optimizer \"" + options.name + "\"");
}

}  // namespace stepgauge::worker
