#include "workloads/recompute.hpp"

#include <memory>
#include <optional>

#include "workloads/autocast.hpp"

namespace stepgauge::workloads {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the backward pass needs to run the block as the forward pass did. Lives in the graph.
struct Again : torch::CustomClassHolder {
  Recomputation::Block block;
  variable_list parameters;
  AutocastState autocast;
  bool reentrant = false;
  std::int64_t* recomputed = nullptr;
};

/// The block's output from a leaf copy of its input, with a graph of its own.
torch::Tensor compute_again(const Again& again, const torch::Tensor& leaf) {
  const torch::AutoGradMode grad(true);
  const AutocastScope autocast(leaf.device(),
                               again.autocast.enabled ? std::optional(again.autocast.dtype) : std::nullopt);
  ++*again.recomputed;
  return again.block(leaf);
}

struct Recompute : torch::autograd::Function<Recompute> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const at::TensorList& /*parameters*/,
                               const c10::intrusive_ptr<Again>& again) {
    context->save_for_backward({x});
    context->saved_data["again"] = c10::IValue::make_capsule(again);
    context->saved_data["requires_grad"] = x.requires_grad();
    return again->block(x);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto again = c10::static_intrusive_pointer_cast<Again>(context->saved_data["again"].toCapsule());
    const bool wanted = context->saved_data["requires_grad"].toBool();
    const auto leaf = context->get_saved_variables()[0].detach().requires_grad_(wanted);
    const auto output = compute_again(*again, leaf);
    variable_list out;
    if (again->reentrant) {
      torch::autograd::backward({output}, {gradients[0]});
      out.push_back(leaf.grad());
    } else {
      variable_list inputs = again->parameters;
      if (wanted) inputs.insert(inputs.begin(), leaf);
      out = torch::autograd::grad({output}, inputs, {gradients[0]});
      if (!wanted) out.insert(out.begin(), torch::Tensor());
    }
    out.emplace_back();  // `again` is no tensor
    return out;
  }
};

}  // namespace

torch::Tensor Recomputation::run(std::size_t index, const torch::nn::Module& owner, const Block& block,
                                 const torch::Tensor& x) {
  if (!policy_.applies(index) || !torch::GradMode::is_enabled()) return block(x);
  auto again = c10::make_intrusive<Again>();
  again->block = block;
  if (!policy_.reentrant) again->parameters = owner.parameters();
  again->autocast = AutocastState::of(x.device().type());
  again->reentrant = policy_.reentrant;
  again->recomputed = &recomputed_;
  const at::TensorList inputs(again->parameters);
  return Recompute::apply(x, inputs, again);
}

}  // namespace stepgauge::workloads
