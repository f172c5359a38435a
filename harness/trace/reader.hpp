#pragma once
// Trace files in: Chrome trace JSON as Kineto and the stepgauge worker write it, plain or gzip.
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/timeline.hpp"

namespace stepgauge::trace {

/// A file that is not a readable trace; what() names the file, where it breaks and what was expected.
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReadLimits {
  std::size_t events = 20'000'000;  ///< more is refused with a clear message
};

/// Reads one trace file; events are streamed, so memory is that of the kept activities, not of the text. A merged file
/// of several ranks gives several timelines, by rank. As chrome://tracing does, it takes a bare array of events, which
/// may lack its end, and a comma before the end of the events. Throws TraceError for damaged, truncated or non-trace
/// input. Of files of others: a step lasts until the next one begins; collectives come from the args of their kernels,
/// else from the annotations of the process group's calls; only the device of the first kernel is read.
std::vector<RankTimeline> read_trace(const std::string& path, const ReadLimits& limits = {});

/// The timelines of a launch, by rank: a folder with rank<N>.trace.json.gz files (any *.trace.json[.gz]; merged.* only
/// where there is nothing else), or a single file. The limit holds for all of them together.
std::vector<RankTimeline> read_launch_traces(const std::string& path, const ReadLimits& limits = {});

}  // namespace stepgauge::trace
