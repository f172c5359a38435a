#pragma once
// Where a step program says which phase it is in. No marks (nullptr): nothing is done and nothing is paid.

namespace stepgauge::worker {

class StepMarks {
 public:
  virtual ~StepMarks() = default;
  /// A phase begins ("input", "forward", "backward", "optimizer"); the one before it ends. `name` outlives the marks.
  virtual void phase(const char* name) = 0;
  /// Whether a mark is work in the device's own order, which a captured graph can hold.
  virtual bool in_device_order() const { return false; }
};

}  // namespace stepgauge::worker
