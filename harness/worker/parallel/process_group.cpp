#include "worker/parallel/process_group.hpp"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

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

}  // namespace

RankGroup::RankGroup(const RankEnvironment& environment, DeviceRoom& room, TraceLog& log)
    : room_(room), store_(connect(environment)) {
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("group", store_);
  open(prefixed, room.make_backend(prefixed, environment.rank, environment.world_size), log);
}

RankGroup::RankGroup(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend, DeviceRoom& room,
                     TraceLog& log)
    : room_(room), store_(std::move(store)) {
  open(store_, std::move(backend), log);
}

void RankGroup::open(const c10::intrusive_ptr<c10d::Store>& store, c10::intrusive_ptr<c10d::Backend> backend,
                     TraceLog& log) {
  const int rank = backend->getRank(), ranks = backend->getSize();
  backend_ = c10::make_intrusive<RecordingBackend>(std::move(backend), log, /*completion=*/room_.device().is_cpu());
  group_ = c10::make_intrusive<c10d::ProcessGroup>(store, rank, ranks);
  group_->setBackend(room_.device().type(), room_.backend_type(), backend_);
  group_->setDefaultBackend(room_.backend_type());
  if (max_over_ranks(rank) != ranks - 1) throw std::runtime_error("the first all-reduce gave a wrong result");
}

double RankGroup::max_over_ranks(double value) {
  std::vector<torch::Tensor> tensors{
      torch::full({1}, value, torch::TensorOptions().device(room_.device()).dtype(torch::kFloat32))};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group_->allreduce(tensors, options)->wait();
  return tensors[0].item<double>();
}

void RankGroup::shutdown() {
  room_.synchronize();
  backend_->shutdown();
}

}  // namespace stepgauge::worker
