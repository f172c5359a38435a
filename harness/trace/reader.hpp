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

/// Reads one trace file; events are streamed (SAX), so memory is that of the kept activities, not of the text. A merged
/// file of several ranks gives several timelines, by rank. Throws TraceError for damaged, truncated or non-trace input.
std::vector<RankTimeline> read_trace(const std::string& path, const ReadLimits& limits = {});

/// The timelines of a launch: its folder with rank<N>.trace.json.gz files, or a single file.
std::vector<RankTimeline> read_launch_traces(const std::string& path, const ReadLimits& limits = {});

}  // namespace stepgauge::trace
