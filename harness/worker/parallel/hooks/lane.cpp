#include "worker/parallel/hooks/lane.hpp"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "worker/trace/step_probe.hpp"

namespace stepgauge::worker {
namespace {

void complete(const HookFuture& done, const std::function<torch::Tensor()>& work) {
  const torch::NoGradGuard no_grad;
  const NotTheModels not_the_models;
  try {
    done->markCompleted(work());
  } catch (...) {
    done->setError(std::current_exception());
  }
}

}  // namespace

HookFuture make_hook_future(torch::Device device) {
  std::vector<c10::Device> devices;
  if (!device.is_cpu()) devices.push_back(device);
  return c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get(), std::move(devices));
}

HookLane::HookLane(torch::Device device) : device_(device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl pool(device.type());
  for (int i = 0; i < 2; ++i) streams_.push_back(pool.getStreamFromGlobalPool(device, /*isHighPriority=*/false));
}

HookLane::~HookLane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

HookFuture HookLane::run(std::function<torch::Tensor()> work) {
  auto done = make_hook_future(device_);
  if (!device_.is_cpu()) {
    const auto side = streams_[next_++ % streams_.size()];
    c10::Event submitted(device_.type());
    submitted.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    submitted.block(side);
    const c10::StreamGuard on_side(side);
    complete(done, work);
    return done;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    jobs_.push_back({std::move(work), done});
  }
  changed_.notify_one();
  return done;
}

void HookLane::serve() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    complete(job.done, job.work);
  }
}

}  // namespace stepgauge::worker
