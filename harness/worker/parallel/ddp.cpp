#include "worker/parallel/ddp.hpp"

#include <torch/csrc/autograd/engine.h>
#include <algorithm>
#include <limits>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <type_traits>

namespace stepgauge::worker {
namespace {

constexpr std::size_t broadcast_bytes = 250u << 20;  // as Python's DDP

using Buckets = std::vector<std::vector<std::size_t>>;
using Names = std::unordered_map<std::size_t, std::string>;

// The Reducer's constructor gained a list of per-bucket caps in 2.11; earlier versions end before it.
constexpr bool has_cap_list =
    std::is_constructible_v<c10d::Reducer, std::vector<at::Tensor>, Buckets, c10::intrusive_ptr<c10d::ProcessGroup>,
                            std::vector<bool>, std::int64_t, bool, bool, Names, std::int64_t, bool, bool,
                            std::vector<std::int64_t>>;

template <typename R = c10d::Reducer>
std::shared_ptr<R> make_reducer(const std::vector<torch::Tensor>& parameters, Buckets buckets,
                                const c10::intrusive_ptr<c10d::ProcessGroup>& group, const CellDdp& options,
                                Names names, std::int64_t cap, std::int64_t first_cap) {
  std::vector<bool> sparse(parameters.size(), false);
  if constexpr (has_cap_list) {
    return std::make_shared<R>(parameters, std::move(buckets), group, std::move(sparse), cap, options.find_unused,
                               options.gradient_as_bucket_view, std::move(names), first_cap, false, false,
                               std::vector<std::int64_t>{});
  } else {
    return std::make_shared<R>(parameters, std::move(buckets), group, std::move(sparse), cap, options.find_unused,
                               options.gradient_as_bucket_view, std::move(names), first_cap, false, false);
  }
}

/// The identity on the loss; its backward queues the Reducer's delayed all-reduce, which a static graph needs
/// in its first iteration.
class StaticGraphSink : public torch::autograd::Function<StaticGraphSink> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& loss,
                               std::int64_t reducer) {
    context->saved_data["reducer"] = reducer;
    return loss.view_as(loss);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    auto* reducer = reinterpret_cast<c10d::Reducer*>(context->saved_data["reducer"].toInt());
    torch::autograd::Engine::get_default_engine().queue_callback([reducer] { reducer->delay_all_reduce(); });
    return {gradients[0], torch::Tensor()};
  }
};

}  // namespace

DataParallel::DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& parameters,
                           std::vector<torch::Tensor> buffers, c10::intrusive_ptr<c10d::ProcessGroup> group,
                           const CellDdp& options, UpdatePart update)
    : group_(std::move(group)),
      buffers_(std::move(buffers)),
      find_unused_(options.find_unused),
      static_graph_(options.static_graph) {
  Names names;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) continue;
    names[parameters_.size()] = name;
    parameters_.push_back(parameter);
  }
  c10d::verify_params_across_processes(group_, parameters_, std::nullopt);
  std::vector<torch::Tensor> state;
  for (const auto& tensor : parameters_) state.push_back(tensor.detach());
  state.insert(state.end(), buffers_.begin(), buffers_.end());
  c10d::broadcast_coalesced(group_, state, broadcast_bytes, 0);
  build_reducer(std::move(names), options);
  use_hooks(options, std::move(update));
}

void DataParallel::build_reducer(Names names, const CellDdp& options) {
  const auto cap = static_cast<std::int64_t>(options.bucket_cap_mb * 1024 * 1024);
  const auto first_cap = static_cast<std::int64_t>(options.first_bucket_mb * 1024 * 1024);
  // Buckets are rebuilt after the first iteration unless unused parameters are looked for, so the first one
  // is a single bucket (as DDP).
  std::vector<std::size_t> limits{static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())};
  if (options.find_unused && !options.static_graph)
    limits = {static_cast<std::size_t>(first_cap), static_cast<std::size_t>(cap)};
  auto buckets = std::get<0>(
      c10d::compute_bucket_assignment_by_size(parameters_, limits, std::vector<bool>(parameters_.size(), false)));
  std::reverse(buckets.begin(), buckets.end());
  reducer_ = make_reducer(parameters_, std::move(buckets), group_, options, std::move(names), cap, first_cap);
  if (static_graph_) reducer_->set_static_graph();
}

void DataParallel::use_hooks(const CellDdp& options, UpdatePart update) {
  auto reduce = make_gradient_hook(options, group_, parameters_);
  reduce_ = reduce.get();
  auto hook = make_overlap_hook(options.overlap, std::move(reduce), std::move(update));
  if (hook.get() == reduce_ && options.hook.empty()) {
    own_reduce_ = std::move(hook);  // the Reducer's own reduction divides while it copies
  } else {
    reducer_->register_comm_hook(std::move(hook));
  }
}

void DataParallel::before_forward() {
  reducer_->prepare_for_forward();
}

void DataParallel::begin_step() {
  reducer_->rebuild_buckets();
  if (!buffers_.empty()) c10d::broadcast_coalesced(group_, buffers_, broadcast_bytes, 0);
}

torch::Tensor DataParallel::before_backward(const torch::Tensor& loss) {
  auto out = loss;
  if (static_graph_ && first_) out = StaticGraphSink::apply(loss, reinterpret_cast<std::int64_t>(reducer_.get()));
  first_ = false;
  reducer_->prepare_for_backward(find_unused_ && !static_graph_ ? std::vector<torch::Tensor>{out}
                                                                : std::vector<torch::Tensor>{});
  return out;
}

void DataParallel::reduce_alone() {
  const torch::NoGradGuard no_grad;
  auto buckets = reducer_->get_grad_buckets(/*return_zero_tensors=*/false);
  std::vector<HookFuture> reduced;
  for (auto& bucket : buckets) reduced.push_back(reduce_->runHook(bucket));
  for (const auto& future : reduced) future->waitAndThrow();
}

std::vector<std::int64_t> DataParallel::bucket_bytes() const {
  std::vector<std::int64_t> out;
  auto buckets = reducer_->get_grad_buckets(true);
  for (auto& bucket : buckets) {
    out.push_back(static_cast<std::int64_t>(bucket.getBufferRef().numel()) * bucket.getBufferRef().element_size());
  }
  return out;
}

}  // namespace stepgauge::worker
