#include "worker/parallel/recording_backend.hpp"

#include <ATen/core/ivalue.h>

namespace stepgauge::worker {
namespace {

std::int64_t total_bytes(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

/// Buckets hold gradients; the Reducer's other all-reduces are of integers.
bool holds_gradients(TrafficCounter::Kind kind, const std::vector<at::Tensor>& tensors) {
  return kind == TrafficCounter::Kind::all_reduce && !tensors.empty() && tensors.front().is_floating_point();
}

}  // namespace

RecordingBackend::RecordingBackend(c10::intrusive_ptr<c10d::Backend> inner, TraceLog& log, bool completion)
    : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), log_(log), completion_(completion) {}

template <typename Call>
c10::intrusive_ptr<c10d::Work> RecordingBackend::record(TrafficCounter::Kind kind,
                                                        const std::vector<at::Tensor>& tensors, Call&& call) {
  const auto bytes = total_bytes(tensors);
  traffic_.count(kind, bytes);
  if (!log_.recording()) return call();
  const auto index = log_.begin_collective(TrafficCounter::name(kind), bytes, holds_gradients(kind, tensors));
  auto work = call();
  log_.end_collective_call(index);
  if (completion_ && work) {
    auto* log = &log_;
    work->getFuture()->addCallback([log, index](c10::ivalue::Future&) { log->complete_collective(index); });
  }
  return work;
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                           const c10d::BroadcastOptions& options) {
  return record(TrafficCounter::Kind::broadcast, tensors, [&] { return inner_->broadcast(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                           const c10d::AllreduceOptions& options) {
  return record(TrafficCounter::Kind::all_reduce, tensors, [&] { return inner_->allreduce(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                                     const c10d::AllreduceCoalescedOptions& options) {
  return record(TrafficCounter::Kind::all_reduce, tensors,
                [&] { return inner_->allreduce_coalesced(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::reduce(std::vector<at::Tensor>& tensors,
                                                        const c10d::ReduceOptions& options) {
  return record(TrafficCounter::Kind::reduce, tensors, [&] { return inner_->reduce(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const c10d::AllgatherOptions& options) {
  return record(TrafficCounter::Kind::all_gather, inputs, [&] { return inner_->allgather(outputs, inputs, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                                 const c10d::AllgatherOptions& options) {
  return record(TrafficCounter::Kind::all_gather, {input},
                [&] { return inner_->_allgather_base(output, input, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                      const c10d::ReduceScatterOptions& options) {
  return record(TrafficCounter::Kind::reduce_scatter, {input},
                [&] { return inner_->_reduce_scatter_base(output, input, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::barrier(const c10d::BarrierOptions& options) {
  return record(TrafficCounter::Kind::barrier, {}, [&] { return inner_->barrier(options); });
}

}  // namespace stepgauge::worker
