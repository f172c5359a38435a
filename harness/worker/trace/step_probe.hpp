#pragma once
// Memory phase by phase, of the first step and of one between the measured and the traced ones; of the latter also the
// types that the heavy operators really see. Neither is a measured step.
#include <ATen/record_function.h>

#include <map>
#include <string>
#include <vector>

#include "worker/device.hpp"
#include "worker/trace/step_marks.hpp"

namespace stepgauge::worker {

/// While one lives, matrix products of its thread are communication's and no business of the probe: they may be in
/// another type than the model's.
class NotTheModels {
 public:
  NotTheModels();
  ~NotTheModels();
  NotTheModels(const NotTheModels&) = delete;
  NotTheModels& operator=(const NotTheModels&) = delete;
};

class StepProbe final : public StepMarks {
 public:
  enum class Types { seen, not_looked_at };
  StepProbe(DeviceRoom& room, Types types) : room_(room), types_wanted_(types == Types::seen) {}

  void begin_step();
  void phase(const char* name) override;
  void end_step();

  /// Highest of the phases: each of them resets the allocator's own peaks.
  MemoryPeaks peaks() const { return peaks_; }

  /// {"phases": [{"phase", "allocated_mib" (at its end), "peak_mib" (inside it), "reserved_mib"}],
  ///  "allocations_per_step", "retries", "largest_free_mib"} of the last probed step; fields that the allocator does
  /// not know are left out.
  Json memory() const;

  /// {"aten::mm": {"BFloat16": 42}, ...}: matrix products, convolutions and attention of the last probed step, by the
  /// type of their first tensor.
  Json operator_types() const;

 private:
  void close_phase();
  void take_peaks();

  DeviceRoom& room_;
  bool types_wanted_;
  MemoryPeaks peaks_;
  std::string current_;
  Json phases_ = Json::array();
  std::map<std::string, std::map<std::string, int>> types_;
  std::optional<std::int64_t> allocations_before_, allocations_;
  at::CallbackHandle observer_ = 0;
};

}  // namespace stepgauge::worker
