#pragma once
// A backend that hands everything to another one, counts what it is handed and, while a trace is taken, records each
// collective: kind, bytes, order, the call and (where the backend tells) the completion. Also where a log of all
// collectives is kept, and where a planted fault of one rank's collectives strikes.
#include <atomic>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "worker/parallel/last_collectives.hpp"
#include "worker/parallel/traffic.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

class CollectiveLog;

class RecordingBackend final : public c10d::Backend {
 public:
  /// `completion`: record when work completes by its future (backends that work on the host); a device's own tracer
  /// sees the end itself. `log` must outlive the backend; nothing is recorded while it does not record.
  RecordingBackend(c10::intrusive_ptr<c10d::Backend> inner, TraceLog& log, bool completion);

  /// Every collective from now on goes into `log`, which must outlive the backend; nullptr: into none. Not send and
  /// recv: only two ranks make those.
  void keep_log(CollectiveLog* log) { collectives_ = log; }
  /// "skip_collective": the next collective is not made, and returns as if it were done. "other_length": the next
  /// all-reduce is of twice the elements.
  void plant(const std::string& fault);
  std::vector<LastCollective> last() const { return last_.now(); }

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
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_sizes,
                                               std::vector<std::int64_t>& input_sizes,
                                               const c10d::AllToAllOptions&) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions&) override;
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override {
    return inner_->send(tensors, to, tag);
  }
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from, int tag) override {
    return inner_->recv(tensors, from, tag);
  }

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
  c10d::Backend& inner() { return *inner_; }

 private:
  enum class Fault { none, skip_collective, other_length };

  bool strikes(Fault fault);
  template <typename Call>
  c10::intrusive_ptr<c10d::Work> logged(const char* kind, const std::vector<at::Tensor>& tensors, std::int64_t bytes,
                                        Call&& call);
  template <typename Call>
  c10::intrusive_ptr<c10d::Work> record(TrafficCounter::Kind kind, const std::vector<at::Tensor>& tensors, Call&& call);

  c10::intrusive_ptr<c10d::Backend> inner_;
  TraceLog& log_;
  TrafficCounter traffic_;
  bool completion_;
  CollectiveLog* collectives_ = nullptr;
  LastCollectives last_;
  std::atomic<Fault> fault_{Fault::none};
};

}  // namespace stepgauge::worker
