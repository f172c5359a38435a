#pragma once
// Which fields differ between two sides: of the fingerprint (blocks a comparison) and of the software (is shown beside
// it).
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::verdict {

struct FieldDifference {
  std::string field;       ///< flattened, "gpus.0.model"
  std::string base, head;  ///< value as text; "(none)" where the field is missing
  std::size_t cells = 0;   ///< cells in which it differs so; 0 for a field of the whole run
};

/// Leaves that differ, by name of the field.
std::vector<FieldDifference> differences(const Json& base, const Json& head);

/// Torch, CUDA, NCCL (as the ranks loaded them), every variable the ranks saw, and kernel, driver and images of workers
/// in containers of the run's environment. A field that had several values within a cell shows all of them; variables
/// that the launcher points into each launch's folder are left out. Launch detail "ranks"[i] has "software" and
/// "environment" objects.
std::vector<FieldDifference> software_differences(
    const ResultSet& base, const ResultSet& head,
    const std::vector<std::pair<const CellResults*, const CellResults*>>& matched);

}  // namespace stepgauge::verdict
