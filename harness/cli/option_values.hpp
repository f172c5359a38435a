#pragma once
// Values of options that several commands read alike. All throw ConfigError naming the option and what was expected.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "verdict/gate_power.hpp"

namespace stepgauge::cli {

/// "30m", "90s": seconds, at least 1; nullopt for an empty text. `option` without its dashes.
std::optional<double> parse_duration(const std::string& text, const std::string& option);

/// "2%" or "0.02", above 0.
double parse_tolerance(const std::string& text, const std::string& option);

/// N1,N2 of --pairs; those of the gate's design for an empty list.
verdict::GatePairs parse_pairs(const std::vector<std::size_t>& given);

}  // namespace stepgauge::cli
