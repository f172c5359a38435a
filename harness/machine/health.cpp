#include "machine/health.hpp"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <thread>

#include "machine/health_probes.hpp"

namespace stepgauge::machine {
namespace {

using Clock = std::chrono::steady_clock;

double thread_cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Threads started meanwhile take no signal: the program's handlers belong to its main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

class HealthSampler::Sampling {
 public:
  Sampling(const std::vector<int>& devices, std::chrono::milliseconds period)
      : period_(period), on_cpu_(devices.empty()), devices_(devices) {
    const double since_s = thread_cpu_s();
    sample();
    cpu_s_ = thread_cpu_s() - since_s;
    const SignalsBlocked blocked;
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }

  void watch_rank(int rank, std::int64_t pid) {
    const std::lock_guard lock(ranks_mutex_);
    new_ranks_.push_back({rank, pid, {}});
  }

  HealthSamples finish(Clock::time_point zero) {
    thread_.request_stop();
    thread_.join();
    const double since_s = thread_cpu_s();
    sample();
    cpu_s_ += thread_cpu_s() - since_s;
    HealthSamples out;
    out.period_s = std::chrono::duration<double>(period_).count();
    out.sampler_cpu_s = cpu_s_;
    out.devices = std::move(devices_.devices);
    out.devices_absent = std::move(devices_.absent);
    out.host = std::move(host_samples_);
    out.ranks = std::move(ranks_);
    shift(out, std::chrono::duration<double>(zero - began_).count());
    return out;
  }

 private:
  void loop(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    for (;;) {
      woken.wait_for(lock, stop, period_, [] { return false; });
      if (stop.stop_requested()) break;
      sample();
    }
    cpu_s_ += thread_cpu_s();
  }

  void sample() {
    const double t_s = std::chrono::duration<double>(Clock::now() - began_).count();
    devices_.sample(t_s);
    if (on_cpu_) host_samples_.push_back(host_.sample(t_s));
    take_new_ranks();
    for (auto& rank : ranks_) {
      if (const auto one = sample_process(rank.pid, t_s)) rank.samples.push_back(*one);
    }
  }

  void take_new_ranks() {
    const std::lock_guard lock(ranks_mutex_);
    for (auto& rank : new_ranks_) ranks_.push_back(std::move(rank));
    new_ranks_.clear();
  }

  static void shift(HealthSamples& health, double zero_s) {
    for (auto& device : health.devices) {
      for (auto& sample : device.samples) sample.t_s -= zero_s;
      if (!device.xids) continue;
      for (auto& event : *device.xids) event.t_s -= zero_s;
    }
    for (auto& sample : health.host) sample.t_s -= zero_s;
    for (auto& rank : health.ranks) {
      for (auto& sample : rank.samples) sample.t_s -= zero_s;
    }
  }

  const Clock::time_point began_ = Clock::now();
  const std::chrono::milliseconds period_;
  const bool on_cpu_;
  DeviceProbe devices_;
  const HostProbe host_;
  std::vector<HostSample> host_samples_;
  std::vector<RankProcessHealth> ranks_;
  double cpu_s_ = 0;
  std::mutex ranks_mutex_;
  std::vector<RankProcessHealth> new_ranks_;  ///< guarded by ranks_mutex_; the rest has one user at a time
  std::jthread thread_;                       ///< last: it ends before what it uses
};

HealthSampler::HealthSampler(const std::vector<int>& devices, std::chrono::milliseconds period)
    : sampling_(std::make_unique<Sampling>(devices, period)) {}

HealthSampler::~HealthSampler() = default;

void HealthSampler::watch_rank(int rank, std::int64_t pid) {
  sampling_->watch_rank(rank, pid);
}

HealthSamples HealthSampler::finish(std::chrono::steady_clock::time_point launch_began) {
  return sampling_->finish(launch_began);
}

}  // namespace stepgauge::machine
