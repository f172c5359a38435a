#pragma once
// Rendezvous of the ranks of one launch: store, backend, process group, first collective.
#include <torch/torch.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "worker/device.hpp"
#include "worker/parallel/recording_backend.hpp"
#include "worker/rank_environment.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

class RankGroup {
 public:
  /// Connects to the store (rank 0 serves it on the socket it was handed), makes the backend and runs one
  /// all-reduce, so that lazy communicators belong to rendezvous and not to the first step.
  /// What the group does while `log` records is recorded there; `log` outlives the group.
  RankGroup(const RankEnvironment& environment, DeviceRoom& room, TraceLog& log);

  /// The same with a store and a backend that are there already.
  RankGroup(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend, DeviceRoom& room,
            TraceLog& log);

  const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }

  /// Largest of the ranks' values; synchronises host and ranks. Not for timed regions.
  double max_over_ranks(double value);

  /// What this rank has handed to collectives so far.
  TrafficByKind traffic() const { return backend_->traffic().now(); }

  /// Ends the communicators; to be called before exit, on every rank.
  void shutdown();

 private:
  void open(const c10::intrusive_ptr<c10d::Store>& store, c10::intrusive_ptr<c10d::Backend> backend, TraceLog& log);

  DeviceRoom& room_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<RecordingBackend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace stepgauge::worker
