// Activation checkpointing against each cell's own twin without it.
#include <fmt/format.h>

#include <algorithm>

#include "report/detail/cell_groups.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"

namespace stepgauge::report::detail {
namespace {

constexpr double noise_share = 0.01;
constexpr double noise_mib = 1;  ///< of an allocator that hands out blocks; a CPU's bytes are counted one by one

double spread(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

std::string signed_count(const std::optional<double>& value) {
  return (value && *value > 0 ? "+" : "") + count_text(value);
}

/// On a CPU the outermost operators are counted, and recomputed ones lie inside others.
bool counts_kernels(const CellResults& cell) {
  const auto& timeline = last_part(cell, "timeline");
  return !timeline.is_object() || timeline.value("clock", Json()) != "host";
}

std::optional<double> difference(const CellResults& cell, const CellResults& twin, const char* metric) {
  const auto one = middle(cell, metric), other = middle(twin, metric);
  return one && other ? std::optional(*one - *other) : std::nullopt;
}

/// Blocks of a step that were computed again: "10 of 10", "?" where nobody could count them.
std::string blocks_text(const CellResults& cell) {
  const auto& checkpoint = last_part(cell, "checkpoint");
  if (!checkpoint.is_object()) return "-";
  const auto number = [&](const char* key) {
    const auto found = checkpoint.find(key);
    return found != checkpoint.end() && found->is_number() ? fmt::format("{:.0f}", found->get<double>()) : "";
  };
  const auto recomputed = number("recomputed_blocks_per_step"), blocks = number("blocks");
  return (recomputed.empty() ? "?" : recomputed) + (blocks.empty() ? "" : " of " + blocks);
}

/// What the checkpointing came to, in words.
std::string effect_of(const CellResults& cell, const CellResults* twin) {
  if (const auto status = summarise(cell).status; status != "ok" && status != "partial") return printable(status);
  if (twin == nullptr) return "no twin";
  const auto with = values_of(cell, "peak_memory"), without = values_of(*twin, "peak_memory");
  if (with.empty() || without.empty()) return "unknown";
  const auto twin_mib = *middle(*twin, "peak_memory");
  const auto saved = twin_mib - *middle(cell, "peak_memory");
  const auto noise =
      std::max({spread(with), spread(without), noise_share * twin_mib, cell.cell.device == "cpu" ? 0.0 : noise_mib});
  if (saved > noise) return "saves";
  return saved < -noise ? "costs memory" : "had no effect";
}

SheetRow row_of(const GroupedCell& one, const CellResults* twin) {
  const auto& cell = *one.results;
  SheetRow row{{one.name, four_digits(middle(cell, "step_time")), four_digits(middle(cell, "peak_memory"))}};
  if (cell.cell.checkpointing == "none") {
    row.texts.insert(row.texts.end(), {"", "", "", "", count_text(middle(cell, "kernels_per_step")),
                                       count_text(middle(cell, "launches_per_step")), "twin"});
    return row;
  }
  std::optional<double> saved, share, paid, kernels, launches;
  if (twin != nullptr) {
    saved = difference(*twin, cell, "peak_memory");
    if (saved && *middle(*twin, "peak_memory") > 0) share = *saved / *middle(*twin, "peak_memory");
    const auto longer = difference(cell, *twin, "step_time");
    if (longer && *middle(*twin, "step_time") > 0) paid = *longer / *middle(*twin, "step_time");
    if (counts_kernels(cell)) kernels = difference(cell, *twin, "kernels_per_step");
    launches = difference(cell, *twin, "launches_per_step");
  }
  const auto effect = effect_of(cell, twin);
  row.texts.insert(row.texts.end(), {four_digits(saved), signed_percent(share), signed_percent(paid), blocks_text(cell),
                                     signed_count(kernels), signed_count(launches), effect});
  row.color = effect == "saves" ? Color::green : Color::yellow;
  return row;
}

}  // namespace

Sheet checkpointing_sheet(const ResultSet& results) {
  Sheet out{"Checkpointing against the same cell without it (kernels, launches: a step's, and how many more)",
            {{"policy", true},
             {"step ms"},
             {"peak MiB"},
             {"saved MiB"},
             {"saved %"},
             {"time %"},
             {"blocks"},
             {"kernels"},
             {"launches"},
             {"effect", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::checkpointing)) {
    const auto asked = [](const GroupedCell& one) { return one.results->cell.checkpointing != "none"; };
    if (std::none_of(group.cells.begin(), group.cells.end(), asked)) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& one : group.cells)
      rows.push_back(row_of(one, twin_without_checkpointing(results, one.results->cell)));
  }
  return out;
}

}  // namespace stepgauge::report::detail
