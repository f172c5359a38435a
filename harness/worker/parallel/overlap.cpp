#include "worker/parallel/overlap.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "worker/parallel/hooks/lane.hpp"

namespace stepgauge::worker {
namespace {

/// A hook around another one, whose state is all there is.
class OuterHook : public GradientHook {
 public:
  explicit OuterHook(std::unique_ptr<GradientHook> reduce) : reduce_(std::move(reduce)) {}
  std::int64_t state_bytes() const override { return reduce_->state_bytes(); }
  void restart() override { reduce_->restart(); }

 protected:
  std::unique_ptr<GradientHook> reduce_;
};

/// Holds the buckets back until the last one of the backward pass is there: by then all of its work is submitted.
class HoldingHook : public OuterHook {
 public:
  using OuterHook::OuterHook;

  HookFuture runHook(c10d::GradBucket& bucket) final {
    if (bucket.getIndex() == 0) held_.clear();  // of a backward pass that failed
    held_.push_back({bucket, make_hook_future(bucket.getBuffer().device())});
    const auto done = held_.back().done;
    if (!bucket.isLast()) return done;
    const auto all = std::move(held_);
    held_.clear();
    reduce(all);
    return done;
  }

 protected:
  struct Held {
    c10d::GradBucket bucket;
    HookFuture done;
  };
  virtual void reduce(std::vector<Held> all) = 0;

 private:
  std::vector<Held> held_;
};

class ReduceLastHook final : public HoldingHook {
 public:
  using HoldingHook::HoldingHook;

 private:
  void reduce(std::vector<Held> all) override {
    for (auto& item : all) {
      reduce_->runHook(item.bucket)->addCallback([done = item.done](c10::ivalue::Future& reduced) {
        if (reduced.hasError()) {
          done->setError(reduced.exception_ptr());
        } else {
          done->markCompleted(c10d::detail::parseCppCommHookResult(reduced.value()));
        }
      });
    }
  }
};

class NoOverlapHook final : public HoldingHook {
 public:
  using HoldingHook::HoldingHook;

 private:
  void reduce(std::vector<Held> all) override {
    const auto device = all.front().bucket.getBuffer().device();
    if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
    for (auto& item : all) {
      const auto reduced = reduce_->runHook(item.bucket);
      reduced->waitAndThrow();
      item.done->markCompleted(c10d::detail::parseCppCommHookResult(reduced->value()));
    }
  }
};

class OptimizerHook final : public OuterHook {
 public:
  OptimizerHook(std::unique_ptr<GradientHook> reduce, UpdatePart update)
      : OuterHook(std::move(reduce)), update_(std::move(update)) {}

  HookFuture runHook(c10d::GradBucket& bucket) override {
    return reduce_->runHook(bucket)->then(
        [this, parameters = bucket.getParameters()](c10::ivalue::Future& reduced) -> c10::IValue {
          const torch::NoGradGuard no_grad;
          auto flat = c10d::detail::parseCppCommHookResult(reduced.value());
          update_(parameters, parameter_views(flat, parameters));
          return flat;
        },
        c10::TensorType::get());
  }

 private:
  UpdatePart update_;
};

}  // namespace

std::unique_ptr<GradientHook> make_overlap_hook(const std::string& overlap, std::unique_ptr<GradientHook> reduce,
                                                UpdatePart update) {
  if (overlap == "none") return std::make_unique<NoOverlapHook>(std::move(reduce));
  if (overlap == "reduce_last") return std::make_unique<ReduceLastHook>(std::move(reduce));
  if (overlap == "optimizer_in_hook") return std::make_unique<OptimizerHook>(std::move(reduce), std::move(update));
  return reduce;
}

}  // namespace stepgauge::worker
