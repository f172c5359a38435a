#pragma once
#include <string>

#include "report/style.hpp"
#include "verdict/gate_json.hpp"

namespace stepgauge::report {

/// The verdict of a gate for people: verdict and counts first, then a line a row, then what else is worth knowing.
std::string gate_table(const verdict::Gate& gate, const verdict::GateContext& context, const Style& style);

}  // namespace stepgauge::report
