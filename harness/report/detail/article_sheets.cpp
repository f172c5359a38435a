// Start-up (A1) and checkpointing (A4): claims and measurements of times, launches and memory.
#include "report/detail/article_sheets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/detail/cell_groups.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/machine_text.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"
#include "stats/summary.hpp"

namespace stepgauge::report::detail {
namespace {

using Number = std::optional<double>;

constexpr double mib_per_gib = 1024;

Number metric_of(const LaunchRecord& launch, const char* name) {
  const auto found = launch.metrics.find(name);
  return launch.status != Status::ok || found == launch.metrics.end() ? std::nullopt : found->second.value;
}

/// Median over launches of init + first step: when the first step is done, counted from the start of the rank.
Number start_s(const CellResults& cell) {
  std::vector<double> sums;
  for (const auto& launch : cell.launches) {
    const auto init = metric_of(launch, "init_latency"), first = metric_of(launch, "first_step_latency");
    if (init && first) sums.push_back(*init + *first);
  }
  return stats::median(sums);
}

Number gib(const Number& mib) {
  return mib ? Number(*mib / mib_per_gib) : std::nullopt;
}

Sheet start_sheet_of(const ResultSet& results, const std::string& title, bool warm) {
  Sheet out{
      title,
      {{"mode", true}, {"init s"}, {"first s"}, {"start s"}, {"step ms"}, {"work/s"}, {"peak GiB"}, {"status", true}},
      {},
      {}};
  for (const auto& group : group_cells(results, Axis::mode)) {
    SheetGroup shown{group.title, {}};
    for (const auto& [cell, name] : group.cells) {
      if ((cell->cell.cache == "warm") != warm) continue;
      shown.rows.push_back({{name, four_digits(middle(*cell, "init_latency")),
                             four_digits(middle(*cell, "first_step_latency")), four_digits(start_s(*cell)),
                             four_digits(middle(*cell, "step_time")), four_digits(middle(*cell, "throughput")),
                             four_digits(gib(middle(*cell, "peak_memory"))), printable(summarise(*cell).status)}});
    }
    if (!shown.rows.empty()) out.groups.push_back(std::move(shown));
  }
  return out;
}

const CellResults* find_mode(const CellGroup& group, const std::string& mode, const std::string& cache) {
  const auto found = std::find_if(group.cells.begin(), group.cells.end(), [&](const GroupedCell& one) {
    const auto& cell = one.results->cell;
    const CellCompileOptions standard;
    return cell.compile == mode && cell.cache == cache && cell.worker == "stepgauge" && cell.ddp.wrapper != "reducer" &&
           cell.compile_options.executor == standard.executor && !cell.compile_options.fullgraph;
  });
  return found == group.cells.end() ? nullptr : found->results;
}

/// reduce-overhead against TorchScript, as the article compares them.
Sheet start_comparison(const ResultSet& results) {
  Sheet out{"compile.reduce-overhead against torchscript: the article and measured",
            {{"", true}, {"article"}, {"cold"}, {"warm"}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::mode)) {
    const auto* script = find_mode(group, "torchscript", "");
    const auto* cold = find_mode(group, "compile.reduce-overhead", "cold");
    const auto* warm = find_mode(group, "compile.reduce-overhead", "warm");
    if (script == nullptr || (cold == nullptr && warm == nullptr)) continue;
    const auto row = [&](const char* what, const char* article, const auto& value) {
      const auto against = [&](const CellResults* cell) {
        return cell == nullptr ? std::string("-") : change(value(*cell), value(*script));
      };
      return SheetRow{{what, article, against(cold), against(warm)}};
    };
    const auto metric = [](const char* name) { return [name](const CellResults& cell) { return middle(cell, name); }; };
    out.groups.push_back(
        {group.title,
         {row("init", "-73.8 %", metric("init_latency")), row("first step", "-42.9 %", metric("first_step_latency")),
          row("start: init + first step", "-", start_s), row("peak memory", "-32.5 %", metric("peak_memory"))}});
  }
  return out;
}

/// Time of a step in which compute kernels ran, ms, of rank 0.
Number gpu_ms(const CellResults& cell) {
  const auto& timeline = last_part(cell, "timeline");
  if (!timeline.is_object() || timeline.contains("unreliable")) return std::nullopt;
  const auto ranks = timeline.find("ranks");
  const auto steps = timeline.find("steps");
  if (ranks == timeline.end() || !ranks->is_array() || ranks->empty() || steps == timeline.end() ||
      !steps->is_number() || steps->get<double>() <= 0)
    return std::nullopt;
  const auto compute = ranks->front().find("compute_ms");
  if (compute == ranks->front().end() || !compute->is_number()) return std::nullopt;
  return compute->get<double>() / steps->get<double>();
}

Sheet launches_sheet(const ResultSet& results) {
  Sheet out{"Measured: kernels, launches and time of a step",
            {{"policy", true}, {"launches"}, {"kernels"}, {"GPU ms"}, {"step ms"}, {"peak MiB"}, {"status", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::checkpointing)) {
    const auto concerned = [](const GroupedCell& one) {
      return one.results->cell.checkpointing != "none" || one.results->cell.ddp.static_graph;
    };
    if (std::none_of(group.cells.begin(), group.cells.end(), concerned)) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& [cell, name] : group.cells)
      rows.push_back(
          {{name, count_text(middle(*cell, "launches_per_step")), count_text(middle(*cell, "kernels_per_step")),
            four_digits(gpu_ms(*cell)), four_digits(middle(*cell, "step_time")),
            four_digits(middle(*cell, "peak_memory")), printable(summarise(*cell).status)}});
  }
  return out;
}

const CellResults* without_static_graph(const ResultSet& results, Cell cell) {
  cell.ddp.static_graph = false;
  assign_identity(cell);
  const auto found = std::find_if(results.cells.begin(), results.cells.end(),
                                  [&](const CellResults& one) { return one.cell.hash == cell.hash; });
  return found == results.cells.end() ? nullptr : &*found;
}

Sheet static_graph_sheet(const ResultSet& results) {
  Sheet out{"static_graph: true against false: the article and measured",
            {{"cell", true}, {"launches"}, {"GPU time"}, {"step time"}, {"peak memory"}},
            {},
            {}};
  SheetGroup rows{"", {{{"the article, 10 layers", "-42.9 %", "-38.4 %", "-", "-"}}}};
  for (const auto& cell : results.cells) {
    if (!cell.cell.ddp.static_graph) continue;
    const auto* twin = without_static_graph(results, cell.cell);
    if (twin == nullptr) continue;
    const auto of = [&](const char* metric) { return change(middle(cell, metric), middle(*twin, metric)); };
    rows.rows.push_back(
        {{fmt::format("{}, {}", axis_value(cell.cell, Axis::mode), printable(cell.cell.checkpointing)),
          of("launches_per_step"), change(gpu_ms(cell), gpu_ms(*twin)), of("step_time"), of("peak_memory")}});
  }
  if (rows.rows.size() > 1) out.groups.push_back(std::move(rows));
  return out;
}

}  // namespace

std::string change(const std::optional<double>& value, const std::optional<double>& base) {
  return value && base && *base > 0 ? signed_percent(*value / *base - 1) + " %" : "-";
}

std::string measured_on(const ResultSet& results, const std::string& article_had) {
  return fmt::format(
      "Measured on {}, {}. The article: {}; neither its code nor a spread is published, so that its numbers "
      "and these can be compared in direction and size, not digit by digit.",
      printable(machine_text(results.fingerprint)), printable(results.created_at.substr(0, 10)), article_had);
}

std::vector<Sheet> start_up_sheets(const ResultSet& results) {
  const Sheet claims{"What the article claims",
                     {{"mode", true}, {"init s"}, {"first step ms"}, {"peak GiB per rank"}},
                     {{"",
                       {{{"TorchScript by default", "42.7", "156", "28.3"}},
                        {{"torch.compile reduce-overhead", "11.2", "89", "19.1"}}}}},
                     {}};
  auto cold =
      start_sheet_of(results, "Measured, cold start (modes without compile caches too; medians over launches)", false);
  auto warm =
      start_sheet_of(results, "Measured, warm start: caches filled by an earlier launch of the same cell", true);
  auto both = start_comparison(results);
  auto& last = !both.empty() ? both : !warm.empty() ? warm : cold;
  last.notes = {
      "init: start of the rank until ready for the first step. torch.compile compiles in the first step, so only "
      "\"start\" "
      "(init + first step) compares modes; the article does not say where its seconds lie.",
      measured_on(results, "8 x A100, a model that it does not name")};
  return {claims, cold, warm, both};
}

std::vector<Sheet> recomputation_sheets(const ResultSet& results) {
  const Sheet claims{"What the article claims (10 layers with activation checkpointing)",
                     {{"", true}, {"kernel launches"}, {"ms"}},
                     {{"", {{{"default", "28", "42.7"}}, {{"static_graph=True", "16", "26.3"}}}}},
                     {}};
  auto launches = launches_sheet(results);
  auto effect = static_graph_sheet(results);
  auto& last = effect.empty() ? launches : effect;
  last.notes = {
      "GPU ms: time of a step in which a compute kernel (on a CPU: an operator) ran on rank 0; launches: calls of the "
      "host that launched work. "
      "static_graph belongs to DDP: it lets reentrant checkpointing work with it and saves bookkeeping, it does not "
      "change what is recomputed.",
      measured_on(results,
                  "10 layers of a model and hardware that it does not name; the digits run together in "
                  "its text, this is the only consistent reading")};
  return {claims, launches, checkpointing_sheet(results), effect};
}

}  // namespace stepgauge::report::detail
