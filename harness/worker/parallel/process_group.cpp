#include "worker/parallel/process_group.hpp"

#include <fmt/format.h>
#include <torch/version.h>

#include <cstdlib>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "worker/mpi/make_mpi_backend.hpp"
#include "worker/parallel/last_collectives.hpp"

namespace stepgauge::worker {
namespace {

c10::intrusive_ptr<c10d::Store> connect(const RankEnvironment& environment) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.master_port);
  options.isServer = environment.rank == 0;
  options.numWorkers = static_cast<std::size_t>(environment.world_size);
  options.timeout = std::chrono::minutes(5);
  if (options.isServer && environment.store_fd) options.masterListenFd = *environment.store_fd;
  return c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options);
}

/// The store goes with rank 0: it stays until each of the others has read why they all stop, a few seconds at most.
void wait_until_read(c10d::Store& store, int rank, int ranks) {
  const auto key = [](int other) { return fmt::format("refusal_read/{}", other); };
  try {
    if (rank != 0) return store.set(key(rank), "yes");
    std::vector<std::string> others;
    for (int other = 1; other < ranks; ++other) others.push_back(key(other));
    store.wait(others, std::chrono::seconds(10));
  } catch (const std::exception&) {  // a rank that is gone reads nothing; the reason stands in this rank's record
  }
}

/// Ranks of another suite or build would wait for each other, or measure two things as one. Rank 0 looks at all.
void refuse_strangers(c10d::Store& store, const Cell& cell, int rank, int ranks) {
  const auto document = std::hash<std::string>{}(dump_line(to_json(cell)));
  const auto mine = fmt::format("cell {} (document {:016x}), worker {}, Torch {}", cell.hash, document,
                                STEPGAUGE_VERSION, TORCH_VERSION);
  store.set(fmt::format("build/{}", rank), mine);
  std::string refusal;
  if (rank == 0) {
    for (int other = 1; other < ranks && refusal.empty(); ++other) {
      const auto theirs = store.get_to_str(fmt::format("build/{}", other));
      if (theirs != mine)
        refusal = fmt::format("rank {} runs another suite or worker build: {}; rank 0: {}", other, theirs, mine);
    }
    store.set("refusal", refusal.empty() ? "none" : refusal);
  } else if (const auto verdict = store.get_to_str("refusal"); verdict != "none") {
    refusal = verdict;
  }
  if (refusal.empty()) return;
  wait_until_read(store, rank, ranks);
  throw std::runtime_error(refusal);
}

/// Where ranks are made to differ on purpose, or the user asks for it as of PyTorch's own process groups.
bool checks_agreement(const Cell& cell) {
  const char* debug = std::getenv("TORCH_DISTRIBUTED_DEBUG");
  const auto& fault = cell.perturb.fault;
  return (fault && (fault->kind == "other_length" || fault->kind == "skip_collective")) ||
         (debug != nullptr && std::string(debug) == "DETAIL");
}

}  // namespace

RankGroup::RankGroup(const RankEnvironment& environment, const Cell& cell, DeviceRoom& room, TraceLog& log,
                     CollectiveLog* collectives)
    : room_(room), log_(log), store_(connect(environment)) {
  const int rank = environment.rank, ranks = environment.world_size;
  refuse_strangers(*store_, cell, rank, ranks);
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("group", store_);
  if (cell.ddp.backend == "mpi") {
    open(prefixed, make_mpi_backend(rank, ranks, checks_agreement(cell), library_),
         c10d::ProcessGroup::BackendType::MPI, collectives);
  } else {
    open(prefixed, room.make_backend(prefixed, rank, ranks), room.backend_type(), collectives);
  }
}

RankGroup::RankGroup(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend, DeviceRoom& room,
                     TraceLog& log)
    : room_(room), log_(log), store_(std::move(store)) {
  open(store_, std::move(backend), room.backend_type(), nullptr);
}

void RankGroup::open(const c10::intrusive_ptr<c10d::Store>& store, c10::intrusive_ptr<c10d::Backend> backend,
                     c10d::ProcessGroup::BackendType type, CollectiveLog* collectives) {
  const int rank = backend->getRank(), ranks = backend->getSize();
  backend_ = c10::make_intrusive<RecordingBackend>(std::move(backend), log_, /*completion=*/room_.device().is_cpu());
  backend_->keep_log(collectives);
  group_ = c10::make_intrusive<c10d::ProcessGroup>(store, rank, ranks);
  group_->setBackend(room_.device().type(), type, backend_);
  group_->setDefaultBackend(type);
  if (max_over_ranks(rank) != ranks - 1) throw std::runtime_error("the first all-reduce gave a wrong result");
}

double RankGroup::max_over_ranks(double value) {
  return max_over_ranks(std::vector<double>{value}).front();
}

std::vector<double> RankGroup::max_over_ranks(const std::vector<double>& values) {
  std::vector<torch::Tensor> tensors{torch::tensor(values, torch::kFloat64).to(room_.device())};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group_->allreduce(tensors, options)->wait();
  const auto host = tensors[0].cpu();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

void RankGroup::plant(const std::string& kind) {
  backend_->plant(kind);
}

std::string RankGroup::compare_last_collectives() {
  try {
    return compare_through(*store_, backend_->last(), rank(), size());
  } catch (const std::exception&) {  // the store went with rank 0
    return "";
  }
}

void RankGroup::shutdown() {
  room_.synchronize();
  backend_->shutdown();
}

}  // namespace stepgauge::worker
