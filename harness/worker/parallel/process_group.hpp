#pragma once
// Rendezvous of the ranks of one launch: store, backend, process group, first collective.
#include <torch/torch.h>

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "contract/cell.hpp"
#include "worker/device.hpp"
#include "worker/parallel/recording_backend.hpp"
#include "worker/rank_environment.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

class RankGroup {
 public:
  /// Connects to the store (rank 0 serves it on the socket it was handed), refuses ranks of another cell or build,
  /// makes the cell's backend and runs one all-reduce, so that lazy communicators belong to rendezvous and not to the
  /// first step. What the group does while `log` records is recorded there, and in `collectives` where there is one;
  /// both outlive the group.
  RankGroup(const RankEnvironment& environment, const Cell& cell, DeviceRoom& room, TraceLog& log,
            CollectiveLog* collectives = nullptr);

  /// The same with a store and a backend that are there already.
  RankGroup(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend, DeviceRoom& room,
            TraceLog& log);

  const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }
  /// "nccl", "gloo", "mpi": the backend's own name, whatever type it is registered as.
  std::string backend_name() const { return backend_->getBackendName(); }
  int rank() const { return group_->getRank(); }
  int size() const { return group_->getSize(); }

  /// Largest of the ranks' values; synchronises host and ranks. Not for timed regions.
  double max_over_ranks(double value);
  /// The same for each element.
  std::vector<double> max_over_ranks(const std::vector<double>& values);

  /// DeviceRoom::bare_all_reduce over this group's backend: nothing of it is recorded.
  bool bare_all_reduce(torch::Tensor& tensor) { return room_.bare_all_reduce(backend_->inner(), tensor); }

  /// This rank's next collective does what a planted fault of `kind` says: "skip_collective", "other_length".
  void plant(const std::string& kind);

  /// After a failure: the first collective that the ranks, as far as they still answer, did not make alike; empty where
  /// there is none. Waits at most half a second.
  std::string compare_last_collectives();

  /// What the MPI library calls itself; empty for other backends.
  const std::string& library() const { return library_; }

  /// What this rank has handed to collectives so far.
  TrafficByKind traffic() const { return backend_->traffic().now(); }

  TraceLog& trace_log() { return log_; }

  /// Ends the communicators; to be called before exit, on every rank.
  void shutdown();

 private:
  void open(const c10::intrusive_ptr<c10d::Store>& store, c10::intrusive_ptr<c10d::Backend> backend,
            c10d::ProcessGroup::BackendType type, CollectiveLog* collectives);

  DeviceRoom& room_;
  TraceLog& log_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<RecordingBackend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::string library_;
};

}  // namespace stepgauge::worker
