#pragma once
// One rank's traced pass as data: what kept the device busy, what the host did, and the marks of steps and phases.
// Made by reader.hpp from a trace file (docs/trace_file.md), whoever wrote it. All times: ns of one clock per rank.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/intervals.hpp"

namespace stepgauge::trace {

/// docs/metrics.md: K, C and M are made of these. Synchronisation records and marks belong to none and are not kept.
enum class ActivityClass : std::uint8_t { compute, communication, copy };
enum class ActivityKind : std::uint8_t { kernel, memcpy, memset, host_op, collective };

/// Something that kept the device busy; in a host timeline an operator or a collective.
struct Activity {
  Interval time;
  std::uint32_t name = 0;   ///< index into RankTimeline::names
  std::int32_t stream = 0;  ///< CUDA stream; host timeline: thread
  ActivityKind kind = ActivityKind::kernel;
  ActivityClass type = ActivityClass::compute;
  std::uint32_t correlation = 0;  ///< joins the host's call; 0: none
  std::uint64_t graph_node = 0;   ///< node of a CUDA graph; 0: launched by itself
  std::int64_t bytes = 0;         ///< copies and memsets
};

enum class CallKind : std::uint8_t { runtime, driver, op };

/// A call on the host: CUDA runtime or driver, or a framework operator.
struct HostCall {
  Interval time;
  std::uint32_t name = 0;
  std::int32_t thread = 0;
  CallKind kind = CallKind::runtime;
  std::uint32_t correlation = 0;
};

/// A named stretch: "forward", "backward", "optimizer", "all_reduce bucket 3", by the host's or the device's clock.
struct Span {
  Interval time;
  std::string name;
};

/// One collective as the process group saw it.
struct Collective {
  std::int64_t sequence = 0;  ///< counts per rank, equal on all ranks for the same collective
  std::string kind;           ///< all_reduce, broadcast, ...
  std::int64_t bytes = 0;
  std::int32_t bucket = -1;  ///< DDP bucket; -1: not one
  Interval host;             ///< call of the process group, ns
  Interval device;           ///< its kernel, or (host timeline) start to completion; empty when not seen
};

/// A counter over time, e.g. memory in MiB.
struct CounterSample {
  std::int64_t at = 0;
  std::string name;
  double value = 0;
};

struct RankTimeline {
  int rank = 0;
  int world_size = 1;
  bool host_time = false;  ///< true: operators on a CPU, not kernels on a device
  bool foreign = false;    ///< true: not written by a stepgauge worker (Kineto, HTA's samples)
  std::string origin;      ///< file
  std::string device_name;
  std::vector<std::string> names;
  std::vector<Activity> activities;  ///< sorted by begin, then end
  std::vector<HostCall> calls;       ///< sorted by begin
  std::vector<Span> steps;           ///< windows of the traced steps in order, on the clock of `activities`
  std::vector<Span> phases;          ///< on the host's clock, sorted by begin
  std::vector<Span> device_phases;   ///< on the device's clock, sorted by begin; empty where not marked
  std::vector<Collective> collectives;
  std::vector<CounterSample> counters;
  std::int64_t dropped = 0;           ///< records that the tracer lost
  std::vector<double> event_step_ms;  ///< the same steps by device events (host clock on CPU); empty when unknown
  std::map<std::string, std::int64_t> ignored;  ///< events of the file that are not kept, by category
  std::int64_t clock_shift = 0;                 ///< added to every time by align(), ns
};

}  // namespace stepgauge::trace
