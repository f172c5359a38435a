#pragma once
// A process group over MPI for CPU tensors: no interpreter, and the ranks are MPI_COMM_WORLD's. All calls are made by
// one thread, in order, so MPI busy-waits there and not in the caller.
#include <limits>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "worker/mpi/mpi_thread.hpp"

namespace stepgauge::worker {

class MpiBackend final : public c10d::Backend {
 public:
  struct Checks {
    /// Before each collective the ranks tell each other kind and size, and all of them fail where these differ. Without
    /// it a mismatch is undefined: Open MPI was seen to write past the smaller buffer. Costs one small all-gather.
    bool agreement = false;
  };

  /// Starts MPI unless that was done. Throws UnsupportedCell when no MPI engine started this process,
  /// std::runtime_error when MPI_COMM_WORLD is not `rank` of `size` or MPI grants less than MPI_THREAD_SERIALIZED.
  /// Buffers of more than `most_elements` go in pieces.
  MpiBackend(int rank, int size, Checks checks, std::int64_t most_elements = std::numeric_limits<int>::max());

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
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override;
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from, int tag) override;

  const std::string getBackendName() const override { return "mpi"; }
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return 0; }

  /// Waits for what was submitted and ends MPI where this backend started it; not after a failure, when peers that are
  /// gone would never answer.
  void shutdown() override;

 private:
  c10::intrusive_ptr<c10d::Work> collective(c10d::OpType type, std::vector<at::Tensor> outputs, std::int64_t bytes,
                                            std::function<void()> call);
  void agree_on(c10d::OpType type, std::int64_t bytes);
  void reduce_in_place(const at::Tensor& tensor, const c10d::ReduceOp& operation, int root);
  void reduce_wide(const at::Tensor& tensor, const c10d::ReduceOp& operation, int root);
  void broadcast_bytes(void* data, std::int64_t bytes, int root);
  void gather_to_all(const at::Tensor& output, const at::Tensor& input);
  void reduce_and_scatter(const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& operation);
  void exchange(const char* out, const std::vector<std::int64_t>& out_bytes, char* in,
                const std::vector<std::int64_t>& in_bytes);
  c10::intrusive_ptr<c10d::Work> point_to_point(std::vector<at::Tensor>& tensors, int peer, int tag, bool sends);

  const Checks checks_;
  const std::int64_t most_elements_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool ends_mpi_ = false, ended_ = false;
  std::unique_ptr<MpiThread> thread_;
};

}  // namespace stepgauge::worker
