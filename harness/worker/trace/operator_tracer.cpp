#include "worker/trace/operator_tracer.hpp"

#include <cstring>
#include <vector>

#include "contract/clock.hpp"
#include "worker/rank_environment.hpp"

namespace stepgauge::worker {
namespace {

TraceLog* current_log = nullptr;  // one tracer at a time

/// When the operators that are open on this thread began; no allocation an operator, as an ObserverContext would be.
thread_local std::vector<std::int64_t> open;

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction&) {
  open.push_back(monotonic_ns());
  return nullptr;
}

/// Calls of the process group are recorded by it, with their completion; here they would count as computing.
bool is_collective(const char* name) {
  return std::strncmp(name, "c10d::", 6) == 0;
}

void end_operator(const at::RecordFunction& function, at::ObserverContext*) {
  if (open.empty()) return;  // it began before the tracer did
  const auto begun = open.back();
  open.pop_back();
  const char* name = function.name();
  if (current_log == nullptr || !current_log->recording() || is_collective(name)) return;
  current_log->op(name, begun, monotonic_ns());
}

}  // namespace

OperatorTracer::OperatorTracer(TraceLog& log) {
  current_log = &log;
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(&begin_operator, &end_operator).scopes({at::RecordScope::FUNCTION}));
}

OperatorTracer::~OperatorTracer() {
  at::removeCallback(handle_);
  current_log = nullptr;
}

}  // namespace stepgauge::worker
