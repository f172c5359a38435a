#include "worker/mpi/mpi_backend.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "worker/device.hpp"
#include "worker/mpi/mpi_calls.hpp"

namespace stepgauge::worker {
namespace {

constexpr int every_rank = -1;
constexpr std::int64_t any_size = -1;  ///< ranks may give as much as they like

/// What mpirun or srun leave in the environment of a process that MPI can connect to its peers.
bool has_engine() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

[[noreturn]] void refuse_without_engine() {
  throw UnsupportedCell(
      "backend mpi needs --launcher mpirun or srun: without one this process is alone in MPI_COMM_WORLD");
}

at::Tensor only(const std::vector<at::Tensor>& tensors, const char* what) {
  TORCH_CHECK(tensors.size() == 1, "backend mpi: ", what, " takes one tensor, got ", tensors.size());
  const auto& tensor = tensors.front();
  TORCH_CHECK(tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.is_non_overlapping_and_dense(),
              "backend mpi: ", what, " takes dense CPU tensors");
  return tensor;
}

void check_contiguous(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK(tensor.is_cpu() && tensor.is_contiguous(), "backend mpi: ", what, " takes contiguous CPU tensors");
}

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

/// Bytes for each rank: split sizes along the first dimension, or equal shares where there are none.
std::vector<std::int64_t> split_bytes(const at::Tensor& tensor, const std::vector<std::int64_t>& sizes, int ranks,
                                      const char* what) {
  if (sizes.empty()) {
    TORCH_CHECK(tensor.dim() > 0 && tensor.size(0) % ranks == 0, "backend mpi: ", what, " has no equal shares for ",
                ranks, " ranks");
    return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), bytes_of(tensor) / ranks);
  }
  TORCH_CHECK(static_cast<int>(sizes.size()) == ranks && tensor.dim() > 0 &&
                  std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == tensor.size(0),
              "backend mpi: the split sizes of ", what, " do not add up to its first dimension");
  const auto row = tensor.size(0) == 0 ? 0 : bytes_of(tensor) / tensor.size(0);
  auto out = sizes;
  for (auto& size : out) size *= row;
  return out;
}

/// MPI's sum becomes an average; of integers the whole part, as NCCL's.
void finish_average(const at::Tensor& tensor, const c10d::ReduceOp& operation, int ranks) {
  if (operation.op_ != c10d::ReduceOp::AVG) return;
  if (tensor.is_floating_point())
    tensor.div_(ranks);
  else
    tensor.div_(ranks, "trunc");
}

}  // namespace

MpiBackend::MpiBackend(int rank, int size, Checks checks, std::int64_t most_elements)
    : Backend(rank, size), checks_(checks), most_elements_(most_elements) {
  int started = 0, level = MPI_THREAD_SINGLE, world_rank = 0, world_size = 0;
  check_mpi(MPI_Initialized(&started), "MPI_Initialized");
  if (started == 0) {
    if (size > 1 && !has_engine()) refuse_without_engine();
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    ends_mpi_ = true;
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level < MPI_THREAD_SERIALIZED) {
    throw std::runtime_error("backend mpi needs MPI_THREAD_SERIALIZED or more, this MPI grants " +
                             thread_level_name(level));
  }
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world_size), "MPI_Comm_size");
  if (world_size == 1 && size > 1) refuse_without_engine();
  if (world_rank != rank || world_size != size) {
    throw std::runtime_error(c10::str("MPI_COMM_WORLD says rank ", world_rank, " of ", world_size,
                                      "; RANK and WORLD_SIZE say rank ", rank, " of ", size));
  }
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
  thread_ = std::make_unique<MpiThread>(rank);
}

void MpiBackend::shutdown() {
  if (ended_) return;
  ended_ = true;
  thread_->stop();
  if (thread_->failed()) return;
  check_mpi(MPI_Comm_free(&communicator_), "MPI_Comm_free");
  if (ends_mpi_) check_mpi(MPI_Finalize(), "MPI_Finalize");
}

c10::intrusive_ptr<c10d::Work> MpiBackend::collective(c10d::OpType type, std::vector<at::Tensor> outputs,
                                                      std::int64_t bytes, std::function<void()> call) {
  return thread_->submit(type, std::move(outputs), [this, type, bytes, call = std::move(call)](auto&) {
    if (checks_.agreement) agree_on(type, bytes);
    call();
  });
}

void MpiBackend::agree_on(c10d::OpType type, std::int64_t bytes) {
  const std::array<std::int64_t, 2> mine{static_cast<std::int64_t>(type), bytes};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(getSize()));
  check_mpi(MPI_Allgather(mine.data(), 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, communicator_), "MPI_Allgather");
  const auto text = [&](std::size_t rank) {
    return c10::str("rank ", rank, " ", c10d::opTypeToString(static_cast<c10d::OpType>(all[2 * rank])), " of ",
                    all[2 * rank + 1], " bytes");
  };
  std::string others;
  for (std::size_t rank = 1; rank < static_cast<std::size_t>(getSize()); ++rank) {
    if (all[2 * rank] != all[0] || all[2 * rank + 1] != all[1]) others += ", " + text(rank);
  }
  if (!others.empty()) throw std::runtime_error("the ranks do not make the same collective: " + text(0) + others);
}

void MpiBackend::broadcast_bytes(void* data, std::int64_t bytes, int root) {
  in_pieces(bytes, most_elements_, [&](std::int64_t offset, int count) {
    check_mpi(MPI_Bcast(static_cast<char*>(data) + offset, count, MPI_BYTE, root, communicator_), "MPI_Bcast");
  });
}

/// To `root` alone, or to every rank.
void MpiBackend::reduce_wide(const at::Tensor& tensor, const c10d::ReduceOp& operation, int root) {
  const auto type = mpi_type(tensor.scalar_type());
  const auto op = mpi_operation(operation, tensor.scalar_type());
  const bool here = root == every_rank || root == getRank();
  in_pieces(tensor.numel(), most_elements_, [&](std::int64_t offset, int count) {
    void* data = static_cast<char*>(tensor.data_ptr()) + offset * tensor.element_size();
    if (root == every_rank)
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, data, count, type, op, communicator_), "MPI_Allreduce");
    else
      check_mpi(MPI_Reduce(here ? MPI_IN_PLACE : data, data, count, type, op, root, communicator_), "MPI_Reduce");
  });
  if (here) finish_average(tensor, operation, getSize());
}

void MpiBackend::reduce_in_place(const at::Tensor& tensor, const c10d::ReduceOp& operation, int root) {
  if (!is_reduced_as_float(tensor.scalar_type())) return reduce_wide(tensor, operation, root);
  const auto wide = tensor.to(at::kFloat);
  reduce_wide(wide, operation, root);
  if (root == every_rank || root == getRank()) tensor.copy_(wide);
}

c10::intrusive_ptr<c10d::Work> MpiBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                     const c10d::BroadcastOptions& options) {
  const auto tensor = only(tensors, "broadcast");
  return collective(c10d::OpType::BROADCAST, tensors, bytes_of(tensor), [this, tensor, root = options.rootRank] {
    broadcast_bytes(tensor.data_ptr(), bytes_of(tensor), static_cast<int>(root));
  });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceOptions& options) {
  const auto tensor = only(tensors, "all-reduce");
  return collective(c10d::OpType::ALLREDUCE, tensors, bytes_of(tensor),
                    [this, tensor, op = options.reduceOp] { reduce_in_place(tensor, op, every_rank); });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                                               const c10d::AllreduceCoalescedOptions& options) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += bytes_of(only({tensor}, "coalesced all-reduce"));
  return collective(c10d::OpType::ALLREDUCE_COALESCED, tensors, bytes, [this, tensors, op = options.reduceOp] {
    for (const auto& tensor : tensors) reduce_in_place(tensor, op, every_rank);
  });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::reduce(std::vector<at::Tensor>& tensors,
                                                  const c10d::ReduceOptions& options) {
  const auto tensor = only(tensors, "reduce");
  return collective(c10d::OpType::REDUCE, tensors, bytes_of(tensor),
                    [this, tensor, op = options.reduceOp, root = options.rootRank] {
                      reduce_in_place(tensor, op, static_cast<int>(root));
                    });
}

/// Rank r's input becomes part r of the output.
void MpiBackend::gather_to_all(const at::Tensor& output, const at::Tensor& input) {
  const auto bytes = bytes_of(input);
  auto* out = static_cast<char*>(output.data_ptr());
  if (bytes == 0) return;
  if (bytes <= most_elements_) {
    check_mpi(MPI_Allgather(input.data_ptr(), static_cast<int>(bytes), MPI_BYTE, out, static_cast<int>(bytes), MPI_BYTE,
                            communicator_),
              "MPI_Allgather");
    return;
  }
  std::memcpy(out + getRank() * bytes, input.data_ptr(), static_cast<std::size_t>(bytes));
  for (int root = 0; root < getSize(); ++root) broadcast_bytes(out + root * bytes, bytes, root);
}

c10::intrusive_ptr<c10d::Work> MpiBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                           const c10d::AllgatherOptions&) {
  check_contiguous(output, "all-gather");
  check_contiguous(input, "all-gather");
  TORCH_CHECK(output.scalar_type() == input.scalar_type() && output.numel() == input.numel() * getSize(),
              "backend mpi: all-gather's output has ", output.numel(), " elements, expected ", getSize(), " times ",
              input.numel());
  return collective(c10d::OpType::_ALLGATHER_BASE, {output}, bytes_of(input),
                    [this, output, input] { gather_to_all(output, input); });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                     std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) {
  const auto input = only(inputs, "all-gather");
  TORCH_CHECK(outputs.size() == 1 && static_cast<int>(outputs.front().size()) == getSize(),
              "backend mpi: all-gather needs one list of ", getSize(), " outputs");
  for (const auto& part : outputs.front()) {
    TORCH_CHECK(part.sizes() == input.sizes() && part.scalar_type() == input.scalar_type(),
                "backend mpi: all-gather's outputs have the size and type of the input");
  }
  return collective(c10d::OpType::ALLGATHER, outputs.front(), bytes_of(input), [this, input, parts = outputs.front()] {
    std::vector<std::int64_t> sizes{getSize()};
    sizes.insert(sizes.end(), input.sizes().begin(), input.sizes().end());
    const auto all = at::empty(sizes, input.options());
    gather_to_all(all, input.contiguous());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].copy_(all[static_cast<std::int64_t>(i)]);
  });
}

void MpiBackend::reduce_and_scatter(const at::Tensor& output, const at::Tensor& input,
                                    const c10d::ReduceOp& operation) {
  const auto share = output.numel();
  if (share == 0) return;
  if (share > most_elements_ / getSize()) {  // a count of int for each rank, and their sum inside of MPI
    const auto all = input.clone();
    reduce_wide(all, operation, every_rank);
    output.view({-1}).copy_(all.view({-1}).narrow(0, getRank() * share, share));
    return;
  }
  check_mpi(MPI_Reduce_scatter_block(input.data_ptr(), output.data_ptr(), static_cast<int>(share),
                                     mpi_type(input.scalar_type()), mpi_operation(operation, input.scalar_type()),
                                     communicator_),
            "MPI_Reduce_scatter_block");
  finish_average(output, operation, getSize());
}

c10::intrusive_ptr<c10d::Work> MpiBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                const c10d::ReduceScatterOptions& options) {
  check_contiguous(output, "reduce-scatter");
  check_contiguous(input, "reduce-scatter");
  TORCH_CHECK(output.scalar_type() == input.scalar_type() && input.numel() == output.numel() * getSize(),
              "backend mpi: reduce-scatter's input has ", input.numel(), " elements, expected ", getSize(), " times ",
              output.numel());
  return collective(c10d::OpType::_REDUCE_SCATTER_BASE, {output}, bytes_of(input),
                    [this, output, input, op = options.reduceOp] {
                      if (!is_reduced_as_float(input.scalar_type())) return reduce_and_scatter(output, input, op);
                      const auto wide = at::empty(output.sizes(), output.options().dtype(at::kFloat));
                      reduce_and_scatter(wide, input.to(at::kFloat), op);
                      output.copy_(wide);
                    });
}

/// In rounds: in round k each rank sends to the k-th after it and receives from the k-th before it.
void MpiBackend::exchange(const char* out, const std::vector<std::int64_t>& out_bytes, char* in,
                          const std::vector<std::int64_t>& in_bytes) {
  const auto start = [](const std::vector<std::int64_t>& bytes, int rank) {
    return std::accumulate(bytes.begin(), bytes.begin() + rank, std::int64_t{0});
  };
  for (int k = 0; k < getSize(); ++k) {
    const int to = (getRank() + k) % getSize(), from = (getRank() - k + getSize()) % getSize();
    const auto sent = out_bytes[static_cast<std::size_t>(to)], received = in_bytes[static_cast<std::size_t>(from)];
    in_pieces(std::max(sent, received), most_elements_, [&](std::int64_t offset, int) {
      const auto piece = [&](std::int64_t bytes) {
        return static_cast<int>(std::clamp<std::int64_t>(bytes - offset, 0, most_elements_));
      };
      check_mpi(
          MPI_Sendrecv(out + start(out_bytes, to) + offset, piece(sent), MPI_BYTE, piece(sent) > 0 ? to : MPI_PROC_NULL,
                       0, in + start(in_bytes, from) + offset, piece(received), MPI_BYTE,
                       piece(received) > 0 ? from : MPI_PROC_NULL, 0, communicator_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    });
  }
}

c10::intrusive_ptr<c10d::Work> MpiBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                         std::vector<std::int64_t>& output_sizes,
                                                         std::vector<std::int64_t>& input_sizes,
                                                         const c10d::AllToAllOptions&) {
  check_contiguous(output, "all-to-all");
  check_contiguous(input, "all-to-all");
  TORCH_CHECK(output.scalar_type() == input.scalar_type(), "backend mpi: all-to-all takes one type");
  const auto out_bytes = split_bytes(input, input_sizes, getSize(), "all-to-all's input");
  const auto in_bytes = split_bytes(output, output_sizes, getSize(), "all-to-all's output");
  return collective(c10d::OpType::ALLTOALL_BASE, {output}, any_size, [this, output, input, out_bytes, in_bytes] {
    exchange(static_cast<const char*>(input.data_ptr()), out_bytes, static_cast<char*>(output.data_ptr()), in_bytes);
  });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::barrier(const c10d::BarrierOptions&) {
  return collective(c10d::OpType::BARRIER, {}, 0, [this] { check_mpi(MPI_Barrier(communicator_), "MPI_Barrier"); });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::point_to_point(std::vector<at::Tensor>& tensors, int peer, int tag,
                                                          bool sends) {
  const auto tensor = only(tensors, sends ? "send" : "recv");
  const auto type = sends ? c10d::OpType::SEND : c10d::OpType::RECV;
  return thread_->submit(type, tensors, [this, tensor, peer, tag, sends](std::vector<MPI_Request>& requests) {
    in_pieces(bytes_of(tensor), most_elements_, [&](std::int64_t offset, int count) {
      char* data = static_cast<char*>(tensor.data_ptr()) + offset;
      MPI_Request request = MPI_REQUEST_NULL;
      if (sends)
        check_mpi(MPI_Isend(data, count, MPI_BYTE, peer, tag, communicator_, &request), "MPI_Isend");
      else
        check_mpi(MPI_Irecv(data, count, MPI_BYTE, peer, tag, communicator_, &request), "MPI_Irecv");
      requests.push_back(request);
    });
  });
}

c10::intrusive_ptr<c10d::Work> MpiBackend::send(std::vector<at::Tensor>& tensors, int to, int tag) {
  return point_to_point(tensors, to, tag, true);
}

c10::intrusive_ptr<c10d::Work> MpiBackend::recv(std::vector<at::Tensor>& tensors, int from, int tag) {
  return point_to_point(tensors, from, tag, false);
}

}  // namespace stepgauge::worker
