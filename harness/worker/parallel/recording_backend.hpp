#pragma once
// A backend that hands everything to another one, counts what it is handed and, while a trace is taken, records each
// collective: kind, bytes, order, the call and (where the backend tells) the completion.
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "worker/parallel/traffic.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

class RecordingBackend final : public c10d::Backend {
 public:
  /// `completion`: record when work completes by its future (backends that work on the host); a device's own tracer
  /// sees the end itself. `log` must outlive the backend; nothing is recorded while it does not record.
  RecordingBackend(c10::intrusive_ptr<c10d::Backend> inner, TraceLog& log, bool completion);

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions&) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions&) override;
  c10::intrusive_ptr<c10d::Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceCoalescedOptions&) override;
  c10::intrusive_ptr<c10d::Work> reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions&) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions&) override;
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions&) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions&) override;

  bool supportsCoalescing() const override { return inner_->supportsCoalescing(); }
  void startCoalescing() override { inner_->startCoalescing(); }
  c10::intrusive_ptr<c10d::Work> endCoalescing() override { return inner_->endCoalescing(); }
  const std::string getBackendName() const override { return inner_->getBackendName(); }
  c10::intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  std::uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }
  void waitForPendingWorks() override { inner_->waitForPendingWorks(); }
  void eagerConnectSingleDevice(at::Device device) override { inner_->eagerConnectSingleDevice(device); }
  void abort() override { inner_->abort(); }
  void shutdown() override { inner_->shutdown(); }

  const TrafficCounter& traffic() const { return traffic_; }

 private:
  template <typename Call>
  c10::intrusive_ptr<c10d::Work> record(TrafficCounter::Kind kind, const std::vector<at::Tensor>& tensors, Call&& call);

  c10::intrusive_ptr<c10d::Backend> inner_;
  TraceLog& log_;
  TrafficCounter traffic_;
  bool completion_;
};

}  // namespace stepgauge::worker
