#pragma once
// The traced pass: after the measured steps, in the same process and on the same program, a set number of steps with
// everything recorded. What it finds goes to the rank's trace file; its step times show what tracing costs.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/device.hpp"
#include "worker/trace/operator_tracer.hpp"
#include "worker/trace/step_marks.hpp"
#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

class TracedPass final : public StepMarks {
 public:
  TracedPass(TraceLog& log, DeviceRoom& room) : log_(log), room_(room) {}

  /// Starts the tracers. Where the device's cannot be had, `absent()` says why and nothing is recorded; the steps may
  /// be run all the same, so that ranks stay together.
  void start(std::size_t steps);
  void begin_step(std::size_t index);  ///< also once behind the last step
  void phase(const char* name) override;
  bool in_device_order() const override { return device_tracer_ != nullptr && recorded(); }
  void stop(std::vector<double> step_ms);

  bool recorded() const { return absent_.empty(); }
  const std::string& absent() const { return absent_; }
  const std::vector<double>& step_ms() const { return step_ms_; }

  /// Throws std::system_error.
  void write(const std::string& path, int rank, int world_size, const std::string& backend) const;

 private:
  void mark(std::uint32_t code);

  TraceLog& log_;
  DeviceRoom& room_;
  std::unique_ptr<DeviceTracer> device_tracer_;
  std::unique_ptr<OperatorTracer> operators_;
  DeviceTrace device_trace_;
  std::vector<std::string> phase_names_;
  std::vector<double> step_ms_;
  std::string absent_;
};

}  // namespace stepgauge::worker
