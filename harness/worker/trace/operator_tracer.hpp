#pragma once
// Operators of the framework by at::RecordFunction, on every thread.
#include <ATen/record_function.h>

#include "worker/trace/trace_log.hpp"

namespace stepgauge::worker {

/// While it lives, every dispatched operator is recorded into `log`, which must outlive it.
class OperatorTracer {
 public:
  explicit OperatorTracer(TraceLog& log);
  ~OperatorTracer();
  OperatorTracer(const OperatorTracer&) = delete;
  OperatorTracer& operator=(const OperatorTracer&) = delete;

 private:
  at::CallbackHandle handle_;
};

}  // namespace stepgauge::worker
