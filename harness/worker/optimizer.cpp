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

 protected:
  void update(Group& group, const Scaling& scaling) override {
    at::_fused_sgd_(group.parameters, group.gradients, group.first, options_.weight_decay, options_.momentum,
                    options_.lr, 0.0, false, false, first_, scaling.factor, scaling.found_inf);
  }
  void end_step() override { first_ = false; }

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

 protected:
  void update(Group& group, const Scaling& scaling) override {
    const auto& found = scaling.found_inf;
    at::_foreach_add_(group.steps, 1);
    at::_fused_adamw_(group.parameters, group.gradients, group.first, group.second, {}, group.steps, options_.lr, 0.9,
                      0.999, options_.weight_decay, 1e-8, false, false, scaling.factor, found);
    if (found) at::_foreach_sub_(group.steps, std::vector<torch::Tensor>(group.steps.size(), *found));
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
    places_[parameter.unsafeGetTensorImpl()] = {static_cast<std::size_t>(group - groups_.begin()),
                                                group->parameters.size(), 0};
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

void FusedOptimizer::step(LossScaler* scaler) {
  const torch::NoGradGuard no_grad;
  for (auto& group : groups_) {
    gather(group);
    Scaling scaling;
    if (scaler != nullptr) {
      scaler->inspect(group.gradients);
      scaling = {scaler->factor(), scaler->found_inf()};
    }
    update(group, scaling);
  }
  end_step();
  if (scaler != nullptr) scaler->update();
}

void FusedOptimizer::step_part(const std::vector<torch::Tensor>& parameters,
                               const std::vector<torch::Tensor>& gradients) {
  const torch::NoGradGuard no_grad;
  const std::lock_guard lock(parts_);
  Group part{parameters, gradients, {}, {}, {}};
  for (const auto& parameter : parameters) {
    auto& place = places_.at(parameter.unsafeGetTensorImpl());
    const auto& group = groups_[place.group];
    ++place.updates;
    if (!group.first.empty()) part.first.push_back(group.first[place.index]);
    if (!group.second.empty()) part.second.push_back(group.second[place.index]);
    if (!group.steps.empty()) part.steps.push_back(group.steps[place.index]);
  }
  update(part, {});
}

void FusedOptimizer::finish_parts() {
  const std::lock_guard lock(parts_);
  for (auto& [parameter, place] : places_) {
    if (place.updates != 1)
      throw std::runtime_error("the optimizer in the hook updated a parameter of shape " +
                               c10::str(parameter->sizes()) + " " + std::to_string(place.updates) +
                               " times in a step, expected once");
    place.updates = 0;
  }
  end_step();
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
