#pragma once
// Ranks as threads of one process: a backend over shared memory that reduces in the order of the ranks, so that sums
// are the same bits each time.
#include <torch/torch.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "worker/parallel/finished_work.hpp"

namespace stepgauge::worker {

/// Where the ranks of one group meet.
class Meeting {
 public:
  explicit Meeting(int ranks) : handed_(static_cast<std::size_t>(ranks)) {}

  /// Each rank hands in a tensor and sees all of them; returns when all have seen them.
  void exchange(int rank, const torch::Tensor& tensor,
                const std::function<void(const std::vector<torch::Tensor>&)>& see) {
    handed_[static_cast<std::size_t>(rank)] = tensor;
    arrive();
    see(handed_);
    arrive();
  }
  std::size_t ranks() const { return handed_.size(); }

 private:
  void arrive() {
    std::unique_lock lock(mutex_);
    const auto round = round_;
    if (++here_ == handed_.size()) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
      return;
    }
    if (!all_here_.wait_for(lock, std::chrono::seconds(60), [&] { return round_ != round; }))
      throw std::runtime_error("a rank did not come to a collective");
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t here_ = 0, round_ = 0;
  std::vector<torch::Tensor> handed_;
};

class ThreadBackend final : public c10d::Backend {
 public:
  ThreadBackend(std::shared_ptr<Meeting> meeting, int rank)
      : Backend(rank, static_cast<int>(meeting->ranks())), meeting_(std::move(meeting)) {}

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return change(tensors, [&](const auto& all) { return all[static_cast<std::size_t>(options.rootRank)].clone(); });
  }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    return change(tensors, [&](const auto& all) {
      auto out = all[0].clone();
      for (std::size_t i = 1; i < all.size(); ++i) {
        if (options.reduceOp == c10d::ReduceOp::MAX) {
          out = at::maximum(out, all[i]);
        } else {
          TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM, "the threads' backend sums and takes the largest");
          out.add_(all[i]);
        }
      }
      return out;
    });
  }
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) override {
    meeting_->exchange(getRank(), inputs[0], [&](const auto& all) {
      for (std::size_t i = 0; i < all.size(); ++i) outputs[0][i].copy_(all[i]);
    });
    return finished_work(outputs[0]);
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions&) override {
    meeting_->exchange(getRank(), input, [&](const auto& all) { output.copy_(at::cat(all)); });
    return finished_work({output});
  }
  const std::string getBackendName() const override { return "threads"; }

 private:
  template <typename Reduce>
  c10::intrusive_ptr<c10d::Work> change(std::vector<at::Tensor>& tensors, Reduce&& reduce) {
    for (auto& tensor : tensors) {
      torch::Tensor result;
      meeting_->exchange(getRank(), tensor, [&](const auto& all) { result = reduce(all); });
      tensor.copy_(result);
    }
    return finished_work(tensors);
  }

  std::shared_ptr<Meeting> meeting_;
};

/// Runs `work(rank, backend)` in a thread for each rank and throws what the first of them threw.
inline void run_ranks(int ranks, const std::function<void(int, c10::intrusive_ptr<c10d::Backend>)>& work) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(rank, c10::make_intrusive<ThreadBackend>(meeting, rank));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// A process group of the CPU over `backend`.
inline c10::intrusive_ptr<c10d::ProcessGroup> group_over(const c10::intrusive_ptr<c10d::Backend>& backend) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), backend->getRank(),
                                                       backend->getSize());
  group->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, backend);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return group;
}

}  // namespace stepgauge::worker
