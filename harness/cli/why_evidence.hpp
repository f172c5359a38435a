#pragma once
// What lies beside the records of two arms: traces that were kept, and the devices' clocks.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "contract/result_set.hpp"
#include "verdict/why.hpp"

namespace stepgauge::cli {

/// Results with the run folder that they are from; empty: a baseline, which keeps no launch folders.
struct Results {
  ResultSet set;
  std::filesystem::path folder;
  std::map<std::string, std::vector<std::string>> workers{};  ///< name in the suite -> argv; empty: a baseline
};

/// The traces of the median launch of either arm, compared as `trace diff` does. `absent` says why there are none:
/// nothing is thrown for traces that cannot be read.
verdict::TraceEvidence trace_evidence(const Results& base, const CellResults& in_base, const Results& head,
                                      const CellResults& in_head);

/// The workers whose commands differ; nothing when an arm does not tell them.
std::vector<verdict::WhyLine> worker_lines(const Results& base, const Results& head);

/// Medians over the launches of the medians of the SM clocks in the measured steps, one line a device.
std::vector<verdict::WhyLine> clock_lines(const CellResults& base, const CellResults& head);

}  // namespace stepgauge::cli
