#pragma once
// A calibration, or a plan made of one, as a document (schema "plan").
#include <string>
#include <vector>

#include "contract/json_io.hpp"
#include "contract/result_set.hpp"
#include "verdict/calibration.hpp"

namespace stepgauge::verdict {

/// What the rules do not know: where it comes from.
struct CalibrationContext {
  std::string suite, suite_path;
  std::string file;     ///< calibration file
  std::string folder;   ///< run folder of this session; empty: a plan, nothing was measured
  std::string stopped;  ///< why the session ended early; empty: it did not
  Json fingerprint = Json::object();
  GateWish wish;
  std::vector<SkippedCell> skipped;
  ExitCode exit_code = ExitCode::nothing_worse;
};

Json to_json(const Calibration& calibration, const CalibrationContext& context);

}  // namespace stepgauge::verdict
