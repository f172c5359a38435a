#pragma once
// The parts of the evidence on one row, each from the records of both arms.
#include "verdict/detail/why_data.hpp"
#include "verdict/why.hpp"

namespace stepgauge::verdict::detail {

/// How a metric can be explained.
enum class Family { init, first_step, speed, memory, launches, other };
Family family_of(const std::string& metric);

/// Launches that failed: how often, how, in which phase.
WhyPart failures_part(const Arms& arms);

/// init: the phases of the rank that took longest, which add up to it. first_step: the ranks' own. speed: the parts of
/// a traced step, mean over the ranks, which add up to it, with their share of the change of the measured step; and the
/// phases that traces give.
WhyPart phases_part(const Arms& arms, Family family, const TraceEvidence& traces);

WhyPart kernels_part(const TraceEvidence& traces);

/// Count, bytes, time, wait and who comes last.
WhyPart collectives_part(const Arms& arms);

/// Peak and what is held at the end, by phase of a step; pools of graphs; outside the allocator by phase of the start.
WhyPart memory_part(const Arms& arms, const std::string& metric);

/// Captures, graph breaks, recompiles, stages, caches.
WhyPart compile_part(const Arms& arms, const std::string& metric, Family family);

}  // namespace stepgauge::verdict::detail
