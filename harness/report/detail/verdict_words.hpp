#pragma once
// How verdicts look wherever a table shows them.
#include <optional>

#include "contract/metrics.hpp"
#include "contract/status.hpp"
#include "report/detail/table.hpp"
#include "verdict/comparison.hpp"

namespace stepgauge::report::detail {

Color color_of(verdict::Verdict verdict);

struct Headline {
  const char* text;
  Color color;
};
/// Of a comparison or a gate that ended with this code.
Headline headline(ExitCode code);

/// Percent for ratios, the unit itself for points; "-" for no value.
std::string change_text(Scale scale, std::optional<double> change, bool with_sign);

}  // namespace stepgauge::report::detail
