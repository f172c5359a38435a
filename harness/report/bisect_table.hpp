#pragma once
#include <string>

#include "report/style.hpp"
#include "verdict/bisect.hpp"

namespace stepgauge::report {

/// The outcome in one sentence, then every midpoint that was asked.
std::string bisect_table(const verdict::Bisect& bisect, const Style& style);

}  // namespace stepgauge::report
