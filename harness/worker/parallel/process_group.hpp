#pragma once
// Rendezvous of the ranks of one launch: store, backend, process group, first collective.
#include <torch/torch.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "worker/device.hpp"
#include "worker/rank_environment.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

class RankGroup {
 public:
  /// Connects to the store (rank 0 serves it on the socket it was handed), makes the backend and runs one
  /// all-reduce, so that lazy communicators belong to rendezvous and not to the first step.
  /// What the group does while `log` records is recorded there; `log` outlives the group.
  RankGroup(const RankEnvironment& environment, DeviceRoom& room, TraceLog& log);

  const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }

  /// Largest of the ranks' values; synchronises host and ranks. Not for timed regions.
  double max_over_ranks(double value);

  /// Ends the communicators; to be called before exit, on every rank.
  void shutdown();

 private:
  DeviceRoom& room_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace stepgauge::worker
