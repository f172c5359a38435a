#pragma once
// What the stored calibration of this machine says of a gate before its first launch.
#include <filesystem>
#include <optional>

#include "cli/gate_budget.hpp"
#include "cli/gate_folder.hpp"
#include "verdict/calibration.hpp"

namespace stepgauge::cli {

/// The cells of the base arm by their A/A sessions here, for this gate's pairs; nullopt when none was ever calibrated,
/// or when the file cannot be read, which is said on standard error.
std::optional<verdict::Calibration> foresee(const GateFolder& folder, const verdict::GatePolicy& policy,
                                            const std::filesystem::path& baselines);

/// Tells the budget how many new pairs a change of the threshold takes to confirm in each cell: by the noisiest row
/// that can be gated there, where the calibration knows the cell, else of a typical one (verdict/gate_length.hpp).
void expect_new_pairs(const std::optional<verdict::Calibration>& calibration, const GateFolder& folder,
                      GateBudget& budget);

/// Says on standard error which rows cannot be gated here, how long the gate takes on average though nothing changed,
/// and, when that is more than the budget, what would do.
void tell_foresight(const verdict::Calibration& calibration, const GateFolder& folder, const GateBudget& budget,
                    bool quiet);

}  // namespace stepgauge::cli
