#pragma once
// Between a run folder, the calibration file and the rules: what `calibrate`, `plan` and `gate` share.
#include <string>
#include <vector>

#include "cli/suite_options.hpp"
#include "contract/calibration_session.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::cli {

/// What a run says as a session: the ok launches, each one's last attempt, with the spread of their steady steps.
CalibrationSession calibration_session(const store::RunFolder& run, std::string commit, std::string added_at);

/// The fingerprint that a run of these cells on this machine has.
Json fingerprint_of(const std::vector<Cell>& cells, const machine::Machine& machine);

}  // namespace stepgauge::cli
