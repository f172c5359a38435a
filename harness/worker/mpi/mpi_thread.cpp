#include "worker/mpi/mpi_thread.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

#include "worker/mpi/mpi_calls.hpp"
#include "worker/parallel/finished_work.hpp"

namespace stepgauge::worker {

MpiWork::MpiWork(int rank, c10d::OpType type, std::vector<at::Tensor> outputs)
    : Work(rank, type), outputs_(std::move(outputs)), future_(tensors_future()) {}

void MpiWork::complete() {
  future_->markCompleted(c10::IValue(outputs_));
  finish();
}

void MpiWork::fail(const std::exception_ptr& error) {
  future_->setError(error);
  finish(error);
}

MpiThread::MpiThread(int rank) : rank_(rank), thread_([this] { run(); }) {}

MpiThread::~MpiThread() {
  stop();
}

c10::intrusive_ptr<c10d::Work> MpiThread::submit(c10d::OpType type, std::vector<at::Tensor> outputs, Call call) {
  auto work = c10::make_intrusive<MpiWork>(rank_, type, std::move(outputs));
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) throw std::runtime_error("backend mpi is shut down");
    queue_.push_back({work, std::move(call), {}});
  }
  wake_.notify_one();
  return work;
}

void MpiThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool MpiThread::failed() const {
  const std::lock_guard lock(mutex_);
  return !first_error_.empty();
}

void MpiThread::run() {
  const at::NoGradGuard no_gradients;
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (waiting_.empty()) wake_.wait(lock, [this] { return !queue_.empty() || stopping_; });
      if (queue_.empty() && waiting_.empty()) return;
      if (!queue_.empty()) {
        job = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    if (job.work) start(std::move(job));
    look_at_requests();
    if (!waiting_.empty()) std::this_thread::yield();
  }
}

void MpiThread::start(Job job) {
  try {
    std::string earlier;
    {
      const std::lock_guard lock(mutex_);
      earlier = first_error_;
    }
    if (!earlier.empty()) throw std::runtime_error("not started, since an earlier call failed: " + earlier);
    job.call(job.requests);
    if (job.requests.empty())
      job.work->complete();
    else
      waiting_.push_back(std::move(job));
  } catch (...) {
    fail(job);
  }
}

void MpiThread::look_at_requests() {
  for (auto job = waiting_.begin(); job != waiting_.end();) {
    try {
      while (!job->requests.empty()) {
        int done = 0;
        check_mpi(MPI_Test(&job->requests.back(), &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) break;
        job->requests.pop_back();
      }
      if (!job->requests.empty()) {
        ++job;
        continue;
      }
      job->work->complete();
    } catch (...) {
      fail(*job);
    }
    job = waiting_.erase(job);
  }
}

void MpiThread::fail(Job& job) {
  const auto error = std::current_exception();
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& reason) {
    const std::lock_guard lock(mutex_);
    if (first_error_.empty()) first_error_ = reason.what();
  }
  job.work->fail(error);
}

}  // namespace stepgauge::worker
