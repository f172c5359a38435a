#pragma once
// The one thread that makes MPI's calls: collectives run in the order in which they were submitted.
#include <mpi.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace stepgauge::worker {

/// Completed by the MPI thread; its future holds the output tensors, or the error with MPI's text.
class MpiWork final : public c10d::Work {
 public:
  MpiWork(int rank, c10d::OpType type, std::vector<at::Tensor> outputs);
  void complete();
  void fail(const std::exception_ptr& error);

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  std::vector<at::Tensor> result() override { return outputs_; }

 private:
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class MpiThread {
 public:
  /// Blocks until done, or leaves requests behind whose completion the thread looks for between other calls.
  using Call = std::function<void(std::vector<MPI_Request>& requests)>;

  explicit MpiThread(int rank);
  /// Waits for what was submitted; a call whose peers are gone never returns.
  ~MpiThread();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  /// `call` keeps alive what it reads. After one call failed every later one fails at once: the ranks no longer agree
  /// on what comes next.
  c10::intrusive_ptr<c10d::Work> submit(c10d::OpType type, std::vector<at::Tensor> outputs, Call call);

  /// Waits for what was submitted and ends the thread.
  void stop();
  bool failed() const;

 private:
  struct Job {
    c10::intrusive_ptr<MpiWork> work;
    Call call;
    std::vector<MPI_Request> requests;
  };

  void run();
  void start(Job job);
  void look_at_requests();
  void fail(Job& job);

  const int rank_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  bool stopping_ = false;
  std::string first_error_;  ///< with mutex_
  std::list<Job> waiting_;   ///< the thread's own: jobs with requests
  std::thread thread_;
};

}  // namespace stepgauge::worker
