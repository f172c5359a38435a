#include "trace/detail/host_side.hpp"

namespace stepgauge::trace::detail {

std::string HostSide::doing_at(std::int64_t time) const {
  const auto* call = calls_.deepest(time);
  const auto* phase = phases_.deepest(time);
  if (call == nullptr && phase == nullptr) return "nothing recorded";
  auto out = call == nullptr ? "no call" : timeline_.names.at(call->name);
  if (phase != nullptr) out += " in " + phase->name;
  return out;
}

const std::string& HostSide::phase_of(const Activity& activity) const {
  static const std::string none;
  const bool on_host = activity.kind == ActivityKind::host_op || activity.kind == ActivityKind::collective;
  const auto* launch = activity.graph_node == 0 ? launches_.find(activity.correlation) : nullptr;
  const Span* phase = nullptr;
  if (on_host || launch != nullptr) {
    phase = phases_.deepest(on_host ? activity.time.begin : launch->time.begin);
  } else {
    phase = device_phases_.deepest(activity.time.begin);
  }
  return phase != nullptr ? phase->name : none;
}

}  // namespace stepgauge::trace::detail
