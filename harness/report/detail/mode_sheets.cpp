#include "report/detail/mode_sheets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "contract/loose_json.hpp"
#include "report/detail/cell_groups.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "stats/summary.hpp"

namespace stepgauge::report::detail {
namespace {

constexpr std::size_t most_notes = 12;

Color color_of(const std::string& status) {
  if (status == "ok") return Color::green;
  return status == "partial" || status == "not run" ? Color::yellow : Color::red;
}

bool has_other_modes(const CellGroup& group) {
  return std::any_of(group.cells.begin(), group.cells.end(),
                     [](const GroupedCell& cell) { return cell.results->cell.compile != "eager"; });
}

/// The unit of throughput where all cells have the same.
std::string unit_of(const ResultSet& results) {
  std::set<std::string> units;
  for (const auto& cell : results.cells) {
    if (auto unit = summarise(cell).work_unit; !unit.empty()) units.insert(unit);
  }
  return units.size() == 1 ? printable(*units.begin()) : "work/s";
}

std::string number_of(const CellResults& cell, const char* metric) {
  return four_digits(middle(cell, metric));
}

std::string count_of(const CellResults& cell, const char* metric) {
  return count_text(middle(cell, metric));
}

std::string error_of(const CellResults& cell) {
  const auto error = middle(cell, "loss_error");
  return error ? fmt::format("{:.1e}", *error) : "-";
}

std::string status_of(const CellResults& cell) {
  return printable(summarise(cell).status);
}

std::int64_t count_at(const Json& value, const char* key, std::int64_t otherwise) {
  const auto& found = loose::part(value, key);
  return found.is_number_integer() ? found.get<std::int64_t>() : otherwise;
}

SheetRow start_row(const GroupedCell& one, Detail detail) {
  const auto& cell = *one.results;
  SheetRow row{{one.name, number_of(cell, "init_latency"), number_of(cell, "compile_time"),
                number_of(cell, "first_step_latency"), number_of(cell, "time_to_steady"), number_of(cell, "step_time"),
                number_of(cell, "throughput"), number_of(cell, "peak_memory"), number_of(cell, "graph_pools")}};
  if (detail == Detail::brief) return row;
  for (const char* metric : {"graph_captures", "graph_breaks", "recompiles"})
    row.texts.push_back(count_of(cell, metric));
  row.texts.push_back(error_of(cell));
  row.texts.push_back(status_of(cell));
  return row;
}

/// "llama...: graph break at forward, twin.py:12, 2 times: print".
std::vector<std::string> compiler_notes(const CellResults& cell) {
  std::vector<std::string> out;
  const auto& compile = last_part(cell, "compile");
  const auto id = printable(cell.cell.id);
  for (const auto& entry : loose::list(compile, "graph_breaks")) {
    const auto count = count_at(entry, "count", 1);
    out.push_back(fmt::format("{}: graph break {}{}: {}", id, place_text(entry),
                              count > 1 ? fmt::format(", {} times", count) : "",
                              printable(loose::text(entry, "reason"))));
  }
  for (const auto& entry : loose::list(compile, "recompiles")) {
    const bool late = entry.is_object() && entry.value("late", Json()) == true;
    out.push_back(fmt::format("{}: compiled again{} {}: guard {}", id, late ? " behind the warm-up" : "",
                              place_text(entry), printable(loose::text(entry, "guard"))));
  }
  return out;
}

void limit(std::vector<std::string>& notes) {
  if (notes.size() <= most_notes) return;
  const auto more = notes.size() - most_notes;
  notes.resize(most_notes);
  notes.push_back(fmt::format("... and {} more; the records have all of them", more));
}

std::string marks_of(const Json& part, Detail detail) {
  if (!part.is_object() || part.value("located", Json()) != true) return "-";
  std::vector<std::string> marks;
  for (const auto& mark : loose::list(part, "by")) {
    if (!mark.is_string()) continue;
    auto text = printable(mark.get<std::string>());
    if (detail == Detail::brief) text = text == "user annotation" ? "annotation" : text.substr(0, text.find(' '));
    if (text == "collective") text = "record";
    marks.push_back(std::move(text));
  }
  if (detail == Detail::brief && marks.size() > 1) marks.resize(1);
  return marks.empty() ? "-" : fmt::format("{}", fmt::join(marks, ", "));
}

}  // namespace

std::optional<double> middle(const CellResults& cell, const char* metric) {
  return stats::median(values_of(cell, metric));
}

std::string count_text(const std::optional<double>& value) {
  const bool whole = value && std::abs(*value) < 1e9 && *value == std::floor(*value);
  return whole ? fmt::format("{:.0f}", *value) : four_digits(value);
}

const Json& last_part(const CellResults& cell, const char* key) {
  static const Json none;
  const Json* out = &none;
  bool ok = false;
  for (const auto& launch : cell.launches) {
    const auto found = launch.detail.find(key);
    if (found == launch.detail.end() || (ok && launch.status != Status::ok)) continue;
    out = &*found;
    ok = launch.status == Status::ok;
  }
  return *out;
}

std::string place_text(const Json& entry) {
  const auto function = loose::text(entry, "function"), file = loose::text(entry, "file");
  if (function.empty() && file.empty()) return "at an unknown place";
  const auto line = count_at(entry, "line", -1);
  auto out = function.empty() ? std::string() : "in " + printable(function);
  if (!file.empty()) out += (out.empty() ? "at " : " at ") + printable(file);
  return line >= 0 && !file.empty() ? fmt::format("{}:{}", out, line) : out;
}

Sheet start_sheet(const ResultSet& results, Detail detail) {
  Sheet out{"Compile modes: start-up and speed (medians over launches)",
            {{"mode", true},
             {"init s"},
             {"compile s"},
             {"first s"},
             {"steady s"},
             {"step ms"},
             {unit_of(results)},
             {"peak MiB"},
             {"pools MiB"}},
            {},
            {}};
  if (detail == Detail::full) {
    for (const char* title : {"captures", "breaks", "recompiles", "loss error"}) out.columns.push_back({title});
    out.columns.push_back({"status", true});
  }
  for (const auto& group : group_cells(results, Axis::mode)) {
    if (!has_other_modes(group)) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& cell : group.cells) rows.push_back(start_row(cell, detail));
  }
  return out;
}

Sheet compiler_sheet(const ResultSet& results) {
  Sheet out{"What the compiler did, and how near the losses are to the eager reference",
            {{"mode", true}, {"captures"}, {"breaks"}, {"recompiles"}, {"loss error"}, {"status", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::mode)) {
    if (!has_other_modes(group)) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& [cell, name] : group.cells) {
      const auto status = status_of(*cell);
      rows.push_back({{name, count_of(*cell, "graph_captures"), count_of(*cell, "graph_breaks"),
                       count_of(*cell, "recompiles"), error_of(*cell), status},
                      color_of(status)});
      for (auto& note : compiler_notes(*cell)) out.notes.push_back(std::move(note));
    }
  }
  limit(out.notes);
  return out;
}

Sheet precision_sheet(const ResultSet& results, Detail detail) {
  Sheet out{"Precisions (fp8 has no MFU: part of its step runs in bf16, with another peak)",
            {{"precision", true},
             {"step ms"},
             {unit_of(results)},
             {"TFLOP/s"},
             {"MFU %"},
             {"peak MiB"},
             {"loss error"},
             {"status", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::precision)) {
    const bool fp8 = std::any_of(group.cells.begin(), group.cells.end(),
                                 [](const GroupedCell& cell) { return is_fp8(cell.results->cell.precision); });
    if (!fp8 && (detail == Detail::brief || group.cells.size() < 2)) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{group.title, {}}).rows;
    for (const auto& [cell, name] : group.cells) {
      const auto status = status_of(*cell);
      rows.push_back({{name, number_of(*cell, "step_time"), number_of(*cell, "throughput"), number_of(*cell, "tflops"),
                       number_of(*cell, "mfu"), number_of(*cell, "peak_memory"), error_of(*cell), status},
                      color_of(status)});
    }
  }
  return out;
}

Sheet visibility_sheet(const ResultSet& results, Detail detail) {
  Sheet out{"What can be located in the trace, and by which mark",
            {{"mode", true},
             {"forward", true},
             {"backward", true},
             {"optimizer", true},
             {"bucket", true},
             {"all-reduce", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::mode)) {
    if (detail == Detail::brief && !has_other_modes(group)) continue;
    SheetGroup shown{group.title, {}};
    for (const auto& [cell, name] : group.cells) {
      const auto& visibility = last_part(*cell, "visibility");
      if (!visibility.is_object()) continue;
      SheetRow row{{name}};
      for (const char* part : {"forward", "backward", "optimizer", "bucket", "all_reduce"})
        row.texts.push_back(marks_of(visibility.value(part, Json()), detail));
      shown.rows.push_back(std::move(row));
    }
    if (!shown.rows.empty()) out.groups.push_back(std::move(shown));
  }
  if (detail == Detail::brief)
    out.notes = {
        "device, graph: a mark on the device's clock, by itself or as a node of a CUDA graph; annotation: a span on "
        "the host's clock in which work was launched; NCCL: a communication kernel; record: the process group's own"};
  return out;
}

}  // namespace stepgauge::report::detail
