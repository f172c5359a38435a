#include "worker/trace/operator_tracer.hpp"

#include <cstring>

#include "worker/rank_environment.hpp"

namespace stepgauge::worker {
namespace {

TraceLog* current_log = nullptr;  // one tracer at a time

struct Begun final : at::ObserverContext {
  std::int64_t at_ns = monotonic_ns();
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  return std::make_unique<Begun>();
}

/// Calls of the process group are recorded by it, with their completion; here they would count as computing.
bool is_collective(const char* name) {
  return std::strncmp(name, "c10d::", 6) == 0;
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  const char* name = function.name();
  if (current_log == nullptr || !current_log->recording() || is_collective(name)) return;
  current_log->op(name, static_cast<Begun*>(context)->at_ns, monotonic_ns());
}

}  // namespace

OperatorTracer::OperatorTracer(TraceLog& log) {
  current_log = &log;
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).scopes({at::RecordScope::FUNCTION}));
}

OperatorTracer::~OperatorTracer() {
  at::removeCallback(handle_);
  current_log = nullptr;
}

}  // namespace stepgauge::worker
