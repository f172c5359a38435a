#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::report::detail {

/// One cell for a table: medians over its ok launches.
struct CellSummary {
  std::string id;
  bool perturbed = false;
  std::size_t ok = 0, launched = 0, asked = 0;
  std::optional<double> init_s, first_step_s, step_ms, step_cv, throughput, peak_mib;
  std::string work_unit;  ///< of throughput, "samples/s"
  std::string status;     ///< "ok", a status, "not run", "partial"
};

/// The metric's values over the ok launches that have it; `unit`: that of the last one.
std::vector<double> values_of(const CellResults& cell, const std::string& metric, std::string* unit = nullptr);

CellSummary summarise(const CellResults& cell);

/// Cells by unit of throughput, one table each; cells without a number stand in the first one.
std::map<std::string, std::vector<CellSummary>> summaries_by_unit(const ResultSet& results);

}  // namespace stepgauge::report::detail
