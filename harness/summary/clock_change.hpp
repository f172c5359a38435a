#pragma once
// Whether the devices ran at the same clocks in two launches that are to be compared with each other.
#include <map>
#include <string>

#include "contract/record.hpp"

namespace stepgauge::summary {

/// Medians of the SM clock in the measured steps count as different from here, as a share of the lower one.
inline constexpr double clock_change = 0.05;

/// Device index -> median SM clock in the measured steps, in MHz, by the health that the record keeps.
std::map<int, double> measured_clocks(const LaunchRecord& record);

/// Why the two launches ran at different clocks, by the health that their records keep: "GPU 0: SM clock 1980 MHz in
/// base, 1500 MHz in head"; empty when they did not, or when no clock was read.
std::string changed_clocks(const LaunchRecord& base, const LaunchRecord& head);

}  // namespace stepgauge::summary
