#include "worker/trace/traced_pass.hpp"

#include <algorithm>

#include "contract/clock.hpp"
#include "worker/rank_environment.hpp"
#include "worker/trace/write_trace.hpp"

namespace stepgauge::worker {

void TracedPass::start(std::size_t steps) {
  constexpr std::size_t operators_per_step = 20'000;
  try {
    if (room_.prepare_marks()) {
      device_tracer_ = make_cupti_tracer();
      device_tracer_->start();
    }
  } catch (const TracingUnavailable& error) {
    absent_ = error.what();
    return;
  }
  log_.reserve(std::min<std::size_t>(steps * operators_per_step, 2'000'000));
  operators_ = std::make_unique<OperatorTracer>(log_);
}

void TracedPass::mark(std::uint32_t code) {
  if (!recorded()) return;
  log_.mark(code, monotonic_ns());
  room_.mark(code);
}

void TracedPass::begin_step(std::size_t index) {
  if (!recorded()) return;
  log_.record();  // the steps before the first mark pay for the tracers' own first use
  log_.begin_step();
  mark(mark_code::step + static_cast<std::uint32_t>(index));
  const auto now = room_.current_memory();
  if (now.allocated_mib) log_.counter("memory allocated (MiB)", monotonic_ns(), *now.allocated_mib);
  if (now.reserved_mib) log_.counter("memory reserved (MiB)", monotonic_ns(), *now.reserved_mib);
}

void TracedPass::phase(const char* name) {
  const auto found = std::find(phase_names_.begin(), phase_names_.end(), name);
  const auto index = static_cast<std::uint32_t>(found - phase_names_.begin());
  if (found == phase_names_.end()) phase_names_.push_back(name);
  mark(index);
}

void TracedPass::stop(std::vector<double> step_ms) {
  step_ms_ = std::move(step_ms);
  operators_.reset();
  log_.stop();
  if (device_tracer_ && recorded()) device_trace_ = device_tracer_->stop();
}

void TracedPass::write(const std::string& path, int rank, int world_size, const std::string& backend) const {
  TraceFacts facts;
  facts.rank = rank;
  facts.world_size = world_size;
  facts.backend = backend;
  facts.host_time = room_.device().is_cpu();
  facts.device = room_.describe();
  facts.phase_names = phase_names_;
  facts.event_step_ms = step_ms_;
  write_trace(path, facts, log_, device_trace_);
}

}  // namespace stepgauge::worker
