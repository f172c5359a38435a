#include "worker/parallel/recording_backend.hpp"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "worker/parallel/collective_log.hpp"
#include "worker/parallel/element_types.hpp"
#include "worker/parallel/finished_work.hpp"

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

/// FNV-1a over the sizes of all tensors.
std::uint64_t hash_of_sizes(const std::vector<at::Tensor>& tensors) {
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
  for (const auto& tensor : tensors) {
    mix(static_cast<std::uint64_t>(tensor.dim()) + (std::uint64_t{1} << 32));
    for (const auto size : tensor.sizes()) mix(static_cast<std::uint64_t>(size));
  }
  return tensors.empty() ? 0 : std::max<std::uint64_t>(hash, 1);
}

CollectiveShape shape_of(const char* kind, const std::vector<at::Tensor>& tensors, std::int64_t bytes) {
  CollectiveShape out;
  out.kind = kind;
  if (!tensors.empty()) out.dtype = type_name(tensors.front().scalar_type());
  out.bytes = bytes;
  for (const auto& tensor : tensors) out.count += tensor.numel();
  out.hash = hash_of_sizes(tensors);
  return out;
}

}  // namespace

RecordingBackend::RecordingBackend(c10::intrusive_ptr<c10d::Backend> inner, TraceLog& log, bool completion)
    : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), log_(log), completion_(completion) {}

void RecordingBackend::plant(const std::string& fault) {
  if (fault != "skip_collective" && fault != "other_length")
    throw std::runtime_error("no fault of collectives: " + fault);
  fault_ = fault == "skip_collective" ? Fault::skip_collective : Fault::other_length;
}

bool RecordingBackend::strikes(Fault fault) {
  return fault_.compare_exchange_strong(fault, Fault::none);
}

template <typename Call>
c10::intrusive_ptr<c10d::Work> RecordingBackend::logged(const char* kind, const std::vector<at::Tensor>& tensors,
                                                        std::int64_t bytes, Call&& call) {
  last_.add(kind, bytes);
  if (collectives_ == nullptr || collectives_->paused()) return call();
  auto* log = collectives_;
  const auto sequence = log->enter(shape_of(kind, tensors, bytes));
  auto work = call();
  if (!work || !sequence) return work;
  // On a device the callback runs at once, with a stream of its own behind the collective.
  if (const auto future = work->getFuture())
    future->addCallback([log, at = *sequence](c10::ivalue::Future& done) {
      if (!done.hasError()) log->end(at);
    });
  return work;
}

template <typename Call>
c10::intrusive_ptr<c10d::Work> RecordingBackend::record(TrafficCounter::Kind kind,
                                                        const std::vector<at::Tensor>& tensors, Call&& make) {
  if (strikes(Fault::skip_collective)) return finished_work(tensors);
  const auto bytes = total_bytes(tensors);
  const auto* const name = TrafficCounter::name(kind);
  traffic_.count(kind, bytes);
  const auto call = [&] { return logged(name, tensors, bytes, make); };
  if (log_.capturing()) log_.capture_collective(name, bytes, holds_gradients(kind, tensors));
  if (log_.capturing() || !log_.recording()) return call();
  const auto index = log_.begin_collective(name, bytes, holds_gradients(kind, tensors));
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
  if (strikes(Fault::other_length)) {
    std::vector<at::Tensor> twice{at::cat({tensors.front().flatten(), tensors.front().flatten()})};
    return record(TrafficCounter::Kind::all_reduce, twice, [&] { return inner_->allreduce(twice, options); });
  }
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

c10::intrusive_ptr<c10d::Work> RecordingBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                               std::vector<std::int64_t>& output_sizes,
                                                               std::vector<std::int64_t>& input_sizes,
                                                               const c10d::AllToAllOptions& options) {
  return record(TrafficCounter::Kind::all_to_all, {input},
                [&] { return inner_->alltoall_base(output, input, output_sizes, input_sizes, options); });
}

c10::intrusive_ptr<c10d::Work> RecordingBackend::barrier(const c10d::BarrierOptions& options) {
  return record(TrafficCounter::Kind::barrier, {}, [&] { return inner_->barrier(options); });
}

}  // namespace stepgauge::worker
