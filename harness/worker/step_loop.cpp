#include "worker/step_loop.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "contract/settled.hpp"

namespace stepgauge::worker {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The planted faults and slowdowns of a cell; does nothing for an honest one.
class Perturbation {
 public:
  Perturbation(const Cell& cell, DeviceRoom& room, int rank) : room_(room), fault_(cell.perturb.fault) {
    if (fault_ && fault_->rank != rank) fault_.reset();
  }

  void set_spin(double ms) { spin_ms_ = ms; }
  double spin_ms() const { return spin_ms_; }

  void after_step(std::int64_t index) {
    if (spin_ms_ > 0) room_.spin(spin_ms_);
    if (fault_ && index == fault_->step) strike();
  }

 private:
  void strike() {
    if (fault_->kind == "kill") ::raise(SIGKILL);
    if (fault_->kind == "throw") throw std::runtime_error("planted fault: throw");
    for (;;) ::pause();  // "stop": the rank goes on living and never returns
  }

  DeviceRoom& room_;
  std::optional<CellFault> fault_;
  double spin_ms_ = 0;
};

class Loop {
 public:
  Loop(StepProgram& program, const Cell& cell, DeviceRoom& room, Progress& progress, int rank)
      : program_(program), cell_(cell), room_(room), progress_(progress), perturbation_(cell, room, rank) {
    out_.losses.reserve(static_cast<std::size_t>(cell.measure.losses));
  }

  void first_step() {
    progress_.phase("first_step");
    room_.synchronize();
    room_.reset_peaks();
    const auto start = Clock::now();
    step();
    room_.synchronize();
    out_.first_step_s = seconds_since(start);
    out_.step_ms.push_back(out_.first_step_s * 1e3);
    out_.first_step_peaks = room_.peaks();
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
    if (cell_.perturb.step_percent > 0) plant_slowdown(times);
  }

  /// A share of the settled step: the median over the three blocks that settling is judged on.
  void plant_slowdown(std::vector<double> times) {
    const auto settled_steps = std::min(times.size(), 3 * static_cast<std::size_t>(cell_.measure.warmup_block));
    if (settled_steps == 0) return;
    times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(settled_steps));
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(settled_steps / 2);
    std::nth_element(times.begin(), middle, times.end());
    perturbation_.set_spin(*middle * cell_.perturb.step_percent / 100);
  }

  void measure() {
    progress_.phase("measure");
    room_.reset_peaks();
    const auto start = Clock::now();
    const auto taken = timed_steps(static_cast<std::size_t>(cell_.measure.steps));
    out_.measured_wall_s = seconds_since(start);
    out_.steady_peaks = room_.peaks();
    out_.step_ms.insert(out_.step_ms.end(), taken.begin(), taken.end());
    out_.spin_ms = perturbation_.spin_ms();
  }

  LoopResult result() { return std::move(out_); }

 private:
  void step() {
    out_.last_loss = program_.step();
    if (static_cast<std::int64_t>(out_.losses.size()) < cell_.measure.losses) out_.losses.push_back(out_.last_loss);
    perturbation_.after_step(index_++);
  }

  /// Submits `count` steps with a mark before and after each, no waiting in between, then waits for the last.
  std::vector<double> timed_steps(std::size_t count) {
    const auto clock = room_.make_clock(count + 1);
    const auto base = index_;
    clock->mark(0);
    for (std::size_t i = 0; i < count; ++i) {
      step();
      clock->mark(i + 1);
      progress_.step(index_ - 1);
    }
    clock->drain(count, [&](std::size_t done) { progress_.step(base + static_cast<std::int64_t>(done)); });
    std::vector<double> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = clock->elapsed_ms(i);
    return out;
  }

  StepProgram& program_;
  const Cell& cell_;
  DeviceRoom& room_;
  Progress& progress_;
  Perturbation perturbation_;
  LoopResult out_;
  std::int64_t index_ = 0;
};

}  // namespace

LoopResult run_loop(StepProgram& program, const Cell& cell, DeviceRoom& room, Progress& progress, int rank,
                    const std::function<double(double)>& max_over_ranks) {
  Loop loop(program, cell, room, progress, rank);
  loop.first_step();
  loop.warm_up(max_over_ranks);
  loop.measure();
  return loop.result();
}

}  // namespace stepgauge::worker
