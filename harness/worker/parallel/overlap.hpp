#pragma once
// When the buckets of a backward pass are reduced (docs/communication.md, "Overlap"): each strategy is a hook around
// the one that reduces a bucket.
#include <functional>

#include "worker/parallel/hooks/gradient_hook.hpp"

namespace stepgauge::worker {

/// Updates `parameters` from `gradients`, on the current stream; may be called from another thread.
using UpdatePart =
    std::function<void(const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& gradients)>;

/// Wraps `reduce` by `overlap`, one of known_overlaps():
/// - none: the last bucket waits for the device on the host; then bucket after bucket is reduced and waited for;
/// - reduce_last: the last bucket starts all reductions, in the order of the buckets, and nobody waits on the host;
/// - optimizer_in_hook: `update` runs for the parameters of a bucket as soon as its reduction has landed;
/// - the others: `reduce` itself.
std::unique_ptr<GradientHook> make_overlap_hook(const std::string& overlap, std::unique_ptr<GradientHook> reduce,
                                                UpdatePart update);

}  // namespace stepgauge::worker
