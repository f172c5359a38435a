#include "worker/step_loop.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "contract/clock.hpp"
#include "contract/settled.hpp"

namespace stepgauge::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// The slowdown of steps that is planned for this rank.
CellPerturb plan_of_rank(CellPerturb plan, int rank) {
  if (!plan.rank || *plan.rank == rank) return plan;
  plan.step_percent = 0;
  plan.step_sleep_us = plan.step_copy_mib = plan.step_kernels = 0;
  return plan;
}

/// The planted faults and slowdowns of a cell; does nothing for an honest one.
class Perturbation {
 public:
  Perturbation(const Cell& cell, DeviceRoom& room, int rank, std::function<void(const std::string&)> plant)
      : room_(room), plan_(plan_of_rank(cell.perturb, rank)), fault_(cell.perturb.fault), plant_(std::move(plant)) {
    if (fault_ && fault_->rank != rank) fault_.reset();
  }

  void set_spin(double settled_ms, double ms) {
    settled_ms_ = settled_ms;
    spin_ms_ = ms;
  }
  void before_step() { step_began_ = Clock::now(); }
  double spin_ms() const { return spin_ms_; }
  double step_percent() const { return plan_.step_percent; }

  void after_step(std::int64_t index) {
    if (spin_ms_ > 0) room_.spin(spin_left_ms());
    each_step();
    if (fault_ && index == fault_->step) strike();
  }

 private:
  /// On a CPU up to the moment at which a settled step, made longer, would end: spinning slows the step after it down,
  /// by half of it where that was seen, and would plant more than was asked for. A device runs behind the host.
  double spin_left_ms() const {
    if (!room_.device().is_cpu()) return spin_ms_;
    return std::max(0.0, settled_ms_ + spin_ms_ - 1e3 * seconds_since(step_began_));
  }

  void each_step() {
    if (plan_.step_sleep_us > 0) room_.synchronize();  // a host that runs ahead would hide it
    if (plan_.step_sleep_us > 0) ::usleep(static_cast<useconds_t>(plan_.step_sleep_us));
    if (plan_.step_copy_mib > 0) {
      if (!from_.defined()) {
        from_ = torch::zeros({plan_.step_copy_mib << 20}, torch::TensorOptions(room_.device()).dtype(torch::kUInt8));
        to_ = torch::empty_like(from_);
      }
      to_.copy_(from_);
    }
    if (plan_.step_kernels > 0 && !values_.defined())
      values_ = torch::zeros({1 << 20}, torch::TensorOptions(room_.device()));
    for (std::int64_t i = 0; i < plan_.step_kernels; ++i) values_.erfinv_();  // zero stays zero
  }

  void strike() {
    if (fault_->kind == "kill") ::raise(SIGKILL);
    if (fault_->kind == "throw") throw std::runtime_error("planted fault: throw");
    if (fault_->kind == "skip_collective" || fault_->kind == "other_length") {
      if (!plant_) throw std::runtime_error("planted fault: " + fault_->kind + " needs a process group");
      return plant_(fault_->kind);
    }
    for (;;) ::pause();  // "stop": the rank goes on living and never returns
  }

  DeviceRoom& room_;
  const CellPerturb plan_;
  torch::Tensor from_, to_, values_;
  std::optional<CellFault> fault_;
  std::function<void(const std::string&)> plant_;
  double settled_ms_ = 0, spin_ms_ = 0;
  Clock::time_point step_began_;
};

rusage process_usage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

Json usage_since(const rusage& before) {
  const auto now = process_usage();
  return {{"voluntary_switches", now.ru_nvcsw - before.ru_nvcsw},
          {"involuntary_switches", now.ru_nivcsw - before.ru_nivcsw},
          {"minor_faults", now.ru_minflt - before.ru_minflt},
          {"major_faults", now.ru_majflt - before.ru_majflt},
          {"user_s", seconds(now.ru_utime) - seconds(before.ru_utime)},
          {"system_s", seconds(now.ru_stime) - seconds(before.ru_stime)}};
}

class Loop {
 public:
  Loop(StepProgram& program, const Cell& cell, DeviceRoom& room, Progress& progress, int rank,
       std::function<void(const std::string&)> plant)
      : program_(program),
        cell_(cell),
        room_(room),
        progress_(progress),
        perturbation_(cell, room, rank, std::move(plant)) {
    out_.losses.reserve(static_cast<std::size_t>(cell.measure.losses));
  }

  void first_step(StepProbe* probe) {
    progress_.phase("first_step");
    room_.synchronize();
    room_.reset_peaks();
    if (probe != nullptr) probe->begin_step();
    program_.set_marks(probe);
    const auto start = Clock::now();
    step();
    room_.synchronize();
    out_.first_step_s = seconds_since(start);
    out_.step_ms.push_back(out_.first_step_s * 1e3);
    program_.set_marks(nullptr);
    if (probe != nullptr) probe->end_step();
    out_.first_step_peaks = probe != nullptr ? probe->peaks() : room_.peaks();
  }

  /// Blocks of steps until their times settle on every rank, or a cap is reached.
  void warm_up(const std::function<double(double)>& max_over_ranks) {
    progress_.phase("warmup");
    const auto block = static_cast<std::size_t>(cell_.measure.warmup_block);
    const auto cap = static_cast<std::size_t>(cell_.measure.warmup_max_steps);
    const auto start = Clock::now();
    std::vector<double> times;
    while (!out_.settled && times.size() < cap) {
      const auto taken = timed_steps(block);
      times.insert(times.end(), taken.begin(), taken.end());
      const bool mine = stepgauge::settled(times, block);
      const bool late = seconds_since(start) > cell_.measure.warmup_max_s;
      out_.settled = max_over_ranks(mine ? 0 : 1) == 0;
      if (max_over_ranks(late ? 1 : 0) > 0) break;
    }
    out_.step_ms.insert(out_.step_ms.end(), times.begin(), times.end());
    out_.measured_from = out_.step_ms.size();
    if (perturbation_.step_percent() > 0) plant_slowdown(times);
  }

  /// A share of the settled step: the median over the three blocks that settling is judged on.
  void plant_slowdown(std::vector<double> times) {
    const auto settled_steps = std::min(times.size(), 3 * static_cast<std::size_t>(cell_.measure.warmup_block));
    if (settled_steps == 0) return;
    times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(settled_steps));
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(settled_steps / 2);
    std::nth_element(times.begin(), middle, times.end());
    perturbation_.set_spin(*middle, *middle * perturbation_.step_percent() / 100);
  }

  void measure(const std::function<TrafficByKind()>& traffic) {
    program_.end_of_warmup();
    progress_.phase("measure");
    room_.reset_peaks();
    const auto memory_before = room_.current_memory().allocated_mib;
    const auto traffic_before = traffic ? traffic() : TrafficByKind();
    const auto usage_before = process_usage();
    const auto start = Clock::now();
    const auto taken = timed_steps(static_cast<std::size_t>(cell_.measure.steps));
    out_.measured_wall_s = seconds_since(start);
    if (traffic) out_.traffic = traffic() - traffic_before;
    out_.last_loss = latest_loss_.clone();
    out_.steady_peaks = room_.peaks();
    out_.usage = usage_since(usage_before);
    out_.outside_mib = room_.outside_mib();
    out_.graph_pools_mib = room_.graph_pools_mib();
    if (const auto now = room_.current_memory().allocated_mib; now && memory_before)
      out_.growth_mib_per_step = (*now - *memory_before) / static_cast<double>(taken.size());
    out_.step_ms.insert(out_.step_ms.end(), taken.begin(), taken.end());
    out_.spin_ms = perturbation_.spin_ms();
  }

  /// The first probed step pays for the probe's own first use; the second is what is kept.
  void probe(StepProbe& probe) {
    progress_.phase("probe");
    for (int i = 0; i < 2; ++i) {
      probe.begin_step();
      program_.set_marks(&probe);
      step();
      program_.set_marks(nullptr);
      probe.end_step();
    }
    room_.synchronize();
  }

  void trace(TracedPass& pass) {
    progress_.phase("trace");
    const auto count = static_cast<std::size_t>(cell_.measure.trace_steps);
    room_.synchronize();
    pass.start(count);
    for (int i = 0; i < 2; ++i) step();  // the tracers' own first use
    program_.set_marks(&pass);
    auto taken = timed_steps(count, [&](std::size_t i) { pass.begin_step(i); });
    program_.set_marks(nullptr);
    room_.synchronize();
    pass.stop(std::move(taken));
  }

  LoopResult result() { return std::move(out_); }

 private:
  void step() {
    perturbation_.before_step();
    latest_loss_ = program_.step();
    if (static_cast<std::int64_t>(out_.losses.size()) < cell_.measure.losses)
      out_.losses.push_back(latest_loss_.clone());
    perturbation_.after_step(index_++);
  }

  /// Submits `count` steps with a mark before and after each, no waiting in between, then waits for the last.
  template <typename Before>
  std::vector<double> timed_steps(std::size_t count, Before&& before_step) {
    const auto clock = room_.make_clock(count + 1);
    const auto base = index_;
    clock->mark(0);
    for (std::size_t i = 0; i < count; ++i) {
      before_step(i);
      step();
      clock->mark(i + 1);
      progress_.step(index_ - 1);
    }
    before_step(count);
    clock->drain(count, [&](std::size_t done) { progress_.step(base + static_cast<std::int64_t>(done)); });
    std::vector<double> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = clock->elapsed_ms(i);
    return out;
  }

  std::vector<double> timed_steps(std::size_t count) {
    return timed_steps(count, [](std::size_t) {});
  }

  StepProgram& program_;
  const Cell& cell_;
  DeviceRoom& room_;
  Progress& progress_;
  Perturbation perturbation_;
  LoopResult out_;
  torch::Tensor latest_loss_;
  std::int64_t index_ = 0;
};

}  // namespace

std::vector<double> timed_ms(DeviceRoom& room, std::size_t count, const std::function<void()>& work) {
  const auto clock = room.make_clock(count + 1);
  clock->mark(0);
  for (std::size_t i = 0; i < count; ++i) {
    work();
    clock->mark(i + 1);
  }
  clock->drain(count, [](std::size_t) {});
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = clock->elapsed_ms(i);
  return out;
}

LoopResult run_loop(StepProgram& program, const Cell& cell, DeviceRoom& room, Progress& progress, int rank,
                    const std::function<double(double)>& max_over_ranks, const LoopExtras& extras) {
  Loop loop(program, cell, room, progress, rank, extras.plant);
  loop.first_step(extras.first);
  loop.warm_up(max_over_ranks);
  loop.measure(extras.traffic);
  if (extras.probe != nullptr) loop.probe(*extras.probe);
  if (extras.traced != nullptr) loop.trace(*extras.traced);
  return loop.result();
}

}  // namespace stepgauge::worker
