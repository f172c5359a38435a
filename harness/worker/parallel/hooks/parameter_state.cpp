#include "worker/parallel/hooks/parameter_state.hpp"

#include "worker/parallel/hooks/gradient_hook.hpp"

namespace stepgauge::worker {

ParameterIndex::ParameterIndex(const std::vector<torch::Tensor>& parameters) {
  for (const auto& parameter : parameters) index_.emplace(parameter.unsafeGetTensorImpl(), index_.size());
}

std::size_t ParameterIndex::of(const torch::Tensor& parameter) const {
  const auto found = index_.find(parameter.unsafeGetTensorImpl());
  if (found == index_.end())
    throw std::runtime_error("a bucket holds a parameter of shape " + c10::str(parameter.sizes()) +
                             " that the hook was not made for");
  return found->second;
}

Residuals::Residuals(const std::vector<torch::Tensor>& parameters, bool wanted) : index_(parameters) {
  if (!wanted) return;
  for (const auto& parameter : parameters) kept_.push_back(torch::zeros_like(parameter.detach()));
}

std::vector<torch::Tensor> Residuals::of(const std::vector<torch::Tensor>& parameters) const {
  std::vector<torch::Tensor> out;
  for (const auto& parameter : parameters) out.push_back(kept_[index_.of(parameter)]);
  return out;
}

void Residuals::add_to(const torch::Tensor& flat, const std::vector<torch::Tensor>& parameters) const {
  if (wanted()) at::_foreach_add_(parameter_views(flat, parameters), of(parameters));
}

void Residuals::keep(const torch::Tensor& left, const std::vector<torch::Tensor>& parameters) const {
  if (wanted()) at::_foreach_copy_(of(parameters), parameter_views(left, parameters));
}

std::int64_t Residuals::bytes() const {
  std::int64_t out = 0;
  for (const auto& tensor : kept_) out += static_cast<std::int64_t>(tensor.nbytes());
  return out;
}

void Residuals::restart() {
  for (auto& tensor : kept_) tensor.zero_();
}

}  // namespace stepgauge::worker
