#pragma once
// How verdicts look wherever a table shows them.
#include <optional>
#include <string>

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

/// Of a row of a comparison or a gate: its change from `ci_lower` to `ci_upper`.
template <typename Row>
std::string interval_text(const Row& row) {
  if (row.exact) return "exact";
  if (!row.ci_lower || !row.ci_upper) return "-";
  return change_text(row.scale, row.ci_lower, true) + ".." + change_text(row.scale, row.ci_upper, true);
}

}  // namespace stepgauge::report::detail
