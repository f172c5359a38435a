// Overlap strategies (A11) and gradient compression (A13): claims and measurements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/detail/article_sheets.hpp"
#include "report/detail/cell_groups.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/communication.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"

namespace stepgauge::report::detail {
namespace {

using Number = std::optional<double>;

constexpr std::size_t enough_losses = 200, compared_losses = 20;

std::string status_of(const CellResults& cell) {
  return printable(summarise(cell).status);
}

const CellResults* with_overlap(const CellGroup& group, const char* overlap) {
  const auto found = std::find_if(group.cells.begin(), group.cells.end(),
                                  [&](const GroupedCell& one) { return one.results->cell.ddp.overlap == overlap; });
  return found == group.cells.end() ? nullptr : found->results;
}

/// Measured step / the limit that compute or communication alone set.
Number distance(const CellResults& cell) {
  if (const auto known = communication_number(cell, {"ideal", "distance"})) return known;
  const auto limit = communication_number(cell, {"ideal", "limit_ms"}), step = middle(cell, "step_time");
  return limit && step && *limit > 0 ? Number(*step / *limit) : std::nullopt;
}

bool several_ranks(const CellGroup& group) {
  return group.cells.front().results->cell.ddp.ranks > 1;
}

Sheet strategies_sheet(const ResultSet& results) {
  Sheet out{"Measured: each way to overlap",
            {{"overlap", true},
             {"work/s"},
             {"vs none"},
             {"overlap %"},
             {"exp.comm"},
             {"step ms"},
             {"compute"},
             {"comm."},
             {"distance"},
             {"status", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::overlap)) {
    if (!several_ranks(group)) continue;
    const auto* none = with_overlap(group, "none");
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& [cell, name] : group.cells)
      rows.push_back(
          {{name, four_digits(middle(*cell, "throughput")),
            none == nullptr || cell == none ? "-" : change(middle(*cell, "throughput"), middle(*none, "throughput")),
            four_digits(middle(*cell, "overlap_ratio")), four_digits(middle(*cell, "exposed_comm")),
            four_digits(middle(*cell, "step_time")), four_digits(communication_number(*cell, {"ideal", "compute_ms"})),
            four_digits(communication_number(*cell, {"ideal", "communication_ms"})), four_digits(distance(*cell)),
            status_of(*cell)}});
  }
  return out;
}

Sheet overlap_comparison(const ResultSet& results) {
  Sheet out{"Asynchronous (ddp) against synchronous (none): the article and measured",
            {{"cells", true}, {"throughput"}, {"overlap % without"}, {"overlap % with"}},
            {},
            {}};
  SheetGroup rows{"", {{{"the article, 8 x A100", "+28.2 %", "0", "68"}}}};
  for (const auto& group : group_cells(results, Axis::overlap)) {
    const auto *none = with_overlap(group, "none"), *ddp = with_overlap(group, "ddp");
    if (none == nullptr || ddp == nullptr) continue;
    rows.rows.push_back({{group.title, change(middle(*ddp, "throughput"), middle(*none, "throughput")),
                          four_digits(middle(*none, "overlap_ratio")), four_digits(middle(*ddp, "overlap_ratio"))}});
  }
  if (rows.rows.size() > 1) out.groups.push_back(std::move(rows));
  return out;
}

std::vector<Number> losses_of(const CellResults& cell) {
  std::vector<Number> out;
  const auto& losses = last_part(cell, "losses");
  for (const auto& loss : losses.is_array() ? losses : Json::array())
    out.push_back(loss.is_number() ? Number(loss.get<double>()) : std::nullopt);
  return out;
}

/// Mean |relative difference| of the last 20 of at least 200 losses that both kept; or why there is none.
std::string loss_error_text(const CellResults& cell, const CellResults* twin) {
  if (twin == nullptr) return "no twin";
  const auto own = losses_of(cell), plain = losses_of(*twin);
  const auto kept = std::min(own.size(), plain.size());
  if (kept < enough_losses) return fmt::format("{} losses kept", kept);
  double sum = 0;
  for (std::size_t i = kept - compared_losses; i < kept; ++i) {
    if (!own[i] || !plain[i] || *plain[i] == 0) return "not finite";
    sum += std::abs(*own[i] - *plain[i]) / std::abs(*plain[i]);
  }
  return fmt::format("{:.2g} %", 100 * sum / compared_losses);
}

Number sent_mib(const CellResults& cell) {
  const auto bytes = communication_number(cell, {"bytes_per_step_sent"});
  return bytes ? Number(*bytes / mib) : std::nullopt;
}

constexpr const char* shared_devices_note =
    "oversubscribed: ranks share a device and take turns at computing; each collective waits for the other's turn too.";

Sheet hooks_sheet(const ResultSet& results) {
  Sheet out{
      "Measured: each hook against no hook (MiB: payload a rank hands to collectives in a step, peak, error state)",
      {{"hook", true},
       {"sent MiB"},
       {"peak MiB"},
       {"error MiB"},
       {"work/s"},
       {"speed"},
       {"loss error"},
       {"status", true}},
      {},
      {}};
  for (const auto& group : group_cells(results, Axis::hook)) {
    if (!several_ranks(group)) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& [cell, name] : group.cells) {
      const bool plain = cell->cell.ddp.hook.empty();
      const auto* twin = plain ? nullptr : plain_twin(results, cell->cell, Axis::hook);
      rows.push_back(
          {{name, four_digits(sent_mib(*cell)), four_digits(middle(*cell, "peak_memory")),
            four_digits(communication_number(*cell, {"error_state_mib"})), four_digits(middle(*cell, "throughput")),
            twin == nullptr ? "-" : change(middle(*cell, "throughput"), middle(*twin, "throughput")),
            plain ? "-" : loss_error_text(*cell, twin), status_of(*cell)}});
    }
  }
  return out;
}

Sheet compression_comparison(const ResultSet& results) {
  Sheet out{"top-k with fp8 against no hook: the article and measured",
            {{"cells", true}, {"payload"}, {"peak memory"}, {"throughput"}},
            {},
            {}};
  SheetGroup rows{"", {{{"the article, Llama-2-7B, 8 x A100", "-", "-32.7 %", "+41.2 %"}}}};
  for (const auto& cell : results.cells) {
    if (cell.cell.ddp.hook != "top_k_fp8") continue;
    const auto* twin = plain_twin(results, cell.cell, Axis::hook);
    if (twin == nullptr) continue;
    rows.rows.push_back(
        {{fmt::format("{}, {}", axis_value(cell.cell, Axis::hook), printable(cell.cell.ddp.transport)),
          change(sent_mib(cell), sent_mib(*twin)), change(middle(cell, "peak_memory"), middle(*twin, "peak_memory")),
          change(middle(cell, "throughput"), middle(*twin, "throughput"))}});
  }
  if (rows.rows.size() > 1) out.groups.push_back(std::move(rows));
  return out;
}

}  // namespace

std::vector<Sheet> overlap_sheets(const ResultSet& results) {
  const Sheet claims{"What the article claims (8 x A100)",
                     {{"collectives", true}, {"samples/s"}, {"overlap"}},
                     {{"", {{{"synchronous", "1,240", "0 %"}}, {{"asynchronous", "1,590", "68 %"}}}}},
                     {}};
  auto measured = strategies_sheet(results);
  auto both = overlap_comparison(results);
  auto& last = both.empty() ? measured : both;
  last.notes = {
      "compute, comm.: a step's compute alone and its communication alone, ms; distance: step time / the larger of the "
      "two, which no overlap can beat. They are measured where the cell asks for measure.allreduce_sweep.",
      "overlap %: share of the communication during which a compute kernel runs; exp.comm: share of the window with "
      "communication alone.",
      measured_on(results, "8 x A100, a model that it does not name")};
  return {claims, measured, both};
}

std::vector<Sheet> compression_sheets(const ResultSet& results) {
  const Sheet claims{
      "What the article claims (Llama-2-7B, 8 x A100)",
      {{"gradients", true}, {"memory GB"}, {"utilisation"}, {"step/s"}},
      {{"", {{{"as they are", "28.4", "62 %", "1.82"}}, {{"Top-30 % + FP8, compiled", "19.1", "89 %", "2.57"}}}}},
      {}};
  auto measured = hooks_sheet(results);
  auto both = compression_comparison(results);
  auto& last = both.empty() ? measured : both;
  last.notes = {
      fmt::format(
          "loss error: mean |relative difference| of the last {} of at least {} kept losses against the same cell "
          "without a hook (measure: {{losses: 200, steps: 200}}).",
          compared_losses, enough_losses),
      measured_on(results, "8 x A100, Llama-2-7B; its memory is of all that it changed at once, compilation included")};
  if (std::any_of(results.cells.begin(), results.cells.end(), [](const auto& c) { return c.cell.ddp.oversubscribe; }))
    last.notes.insert(last.notes.begin(), shared_devices_note);
  return {claims, measured, both};
}

}  // namespace stepgauge::report::detail
