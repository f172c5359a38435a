// What the compiler made (A2, A8) and what a profiler still sees of it (A6).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "contract/loose_json.hpp"
#include "report/detail/article_sheets.hpp"
#include "report/detail/cell_groups.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"

namespace stepgauge::report::detail {
namespace {

using Number = std::optional<double>;

constexpr std::size_t kinds_columns = 36;

std::string text_at(const Json& value, const char* key) {
  return printable(loose::text(value, key));
}

/// "aten::conv2d 20, aten::relu 17": the kinds that there are most of, as many as fit; or why there is no census.
std::string kinds_text(const Json& entry) {
  const auto kinds = entry.is_object() ? entry.find("kinds") : entry.end();
  if (!entry.is_object() || kinds == entry.end() || !kinds->is_object()) return text_at(entry, "absent");
  std::vector<std::pair<double, std::string>> counted;
  for (const auto& [kind, count] : kinds->items()) {
    if (count.is_number()) counted.push_back({-count.get<double>(), kind});
  }
  std::sort(counted.begin(), counted.end());
  std::string out;
  for (const auto& [count, kind] : counted) {
    const auto next = fmt::format("{}{} {:.0f}", out.empty() ? "" : ", ", printable(kind), -count);
    if (!out.empty() && columns(out + next) > kinds_columns) break;
    out += next;
  }
  return shorten_middle(out, kinds_columns, kinds_columns / 2);
}

Json entry_of(const CellResults& cell, const std::string& ir) {
  const auto& census = last_part(cell, "ir_census");
  if (!census.is_array()) return nullptr;
  for (const auto& entry : census) {
    if (text_at(entry, "ir") == ir) return entry;
  }
  return nullptr;
}

Number nodes_of(const CellResults& cell, const std::vector<const char*>& irs) {
  Number sum;
  for (const auto* ir : irs) {
    const auto nodes = loose::number(entry_of(cell, ir), "nodes");
    if (!nodes) return std::nullopt;
    sum = sum.value_or(0) + *nodes;
  }
  return sum;
}

Number memory_of(const CellResults& cell, const char* ir) {
  const auto entry = entry_of(cell, ir);
  const auto memory = loose::number(entry, "memory_mib");
  return memory ? memory : loose::number(entry, "rss_mib");
}

std::string ratio_text(const Number& a, const Number& b) {
  return a && b && *b > 0 ? fmt::format("{:.2f}", *a / *b) : "-";
}

Sheet census_sheet(const ResultSet& results) {
  Sheet out{"Measured: nodes and memory of each intermediate representation",
            {{"representation", true}, {"nodes"}, {"memory MiB"}, {"resident MiB"}, {"seconds"}, {"most of", true}},
            {},
            {}};
  std::set<std::string> methods;
  for (const auto& cell : results.cells) {
    const auto& census = last_part(cell, "ir_census");
    if (!census.is_array() || census.empty()) continue;
    auto& rows = out.groups.emplace_back(SheetGroup{printable(cell.cell.id), {}}).rows;
    for (const auto& entry : census) {
      rows.push_back({{text_at(entry, "ir"), count_text(loose::number(entry, "nodes")),
                       four_digits(loose::number(entry, "memory_mib")), four_digits(loose::number(entry, "rss_mib")),
                       four_digits(loose::number(entry, "seconds")), kinds_text(entry)}});
      if (const auto method = text_at(entry, "method"); !method.empty())
        methods.insert(text_at(entry, "ir") + ": " + method);
    }
  }
  out.notes.assign(methods.begin(), methods.end());
  return out;
}

/// The cell of the group whose census has the representation.
const CellResults* with_census_of(const CellGroup& group, const char* ir) {
  const auto found = std::find_if(group.cells.begin(), group.cells.end(),
                                  [&](const GroupedCell& one) { return !entry_of(*one.results, ir).is_null(); });
  return found == group.cells.end() ? nullptr : found->results;
}

/// FX against the TorchScript of the same program, by what either could be taken to be.
Sheet growth_sheet(const ResultSet& results) {
  Sheet out{"FX against TorchScript: the article and measured",
            {{"cell", true}, {"nodes, symbolic / raw"}, {"nodes, AOT / optimised"}, {"memory, symbolic / raw"}},
            {{"", {{{"the article, ResNet-18 (says neither which)", "4.75", "4.75", "3.98"}}}}},
            {}};
  for (const auto& group : group_cells(results, Axis::mode)) {
    const auto* script = with_census_of(group, "torchscript.raw");
    if (script == nullptr) continue;
    SheetGroup rows{group.title, {}};
    for (const auto& [cell, name] : group.cells) {
      const auto symbolic = nodes_of(*cell, {"fx.symbolic"}), aot = nodes_of(*cell, {"aot.forward", "aot.backward"});
      if (!symbolic && !aot) continue;
      rows.rows.push_back({{name, ratio_text(symbolic, nodes_of(*script, {"torchscript.raw"})),
                            ratio_text(aot, nodes_of(*script, {"torchscript.optimised"})),
                            ratio_text(memory_of(*cell, "fx.symbolic"), memory_of(*script, "torchscript.raw"))}});
    }
    if (!rows.rows.empty()) out.groups.push_back(std::move(rows));
  }
  if (out.groups.size() == 1) out.groups.clear();
  return out;
}

struct Located {
  std::size_t cells = 0, all_reduce = 0, boundary = 0;

  std::string all_reduce_text() const { return cells == 0 ? "-" : fmt::format("{} of {} cells", all_reduce, cells); }
  std::string boundary_text() const { return cells == 0 ? "-" : fmt::format("{} of {} cells", boundary, cells); }
};

bool is_located(const Json& visibility, const char* part) {
  const auto found = visibility.find(part);
  return found != visibility.end() && found->is_object() && found->value("located", Json()) == true;
}

/// Cells of two and more ranks with a trace, the compiled ones or the others.
Located located_among(const ResultSet& results, bool compiled) {
  Located out;
  for (const auto& cell : results.cells) {
    const auto& visibility = last_part(cell, "visibility");
    const bool eager = cell.cell.compile == "eager" || cell.cell.compile == "python_eager";
    if (!visibility.is_object() || cell.cell.ddp.ranks < 2 || eager == compiled) continue;
    ++out.cells;
    out.all_reduce += is_located(visibility, "all_reduce");
    out.boundary += is_located(visibility, "forward") && is_located(visibility, "backward");
  }
  return out;
}

}  // namespace

std::vector<Sheet> representation_sheets(const ResultSet& results) {
  const Sheet claims{"What the article claims (ResNet-18)",
                     {{"representation", true}, {"nodes"}, {"MB"}},
                     {{"", {{{"TorchScript", "about 1,200", "486"}}, {{"FX", "about 5,700", "1,932"}}}}},
                     {}};
  auto census = census_sheet(results);
  auto growth = growth_sheet(results);
  auto& last = growth.empty() ? census : growth;
  last.notes.push_back(
      "Counting depends on where one looks: a symbolic trace has a node a module, AOT autograd one an operator, "
      "forward "
      "and backward apart. Memory is that of the representation, without the weights, by the method named with it; "
      "hundreds of MB can only be a process's.");
  last.notes.push_back(measured_on(results, "ResNet-18, hardware that it does not name"));
  return {claims, census, growth};
}

std::vector<Sheet> located_sheets(const ResultSet& results) {
  const auto plain = located_among(results, false), compiled = located_among(results, true);
  Sheet both{
      "AllReduce and the boundary of forward and backward in a trace of two and more ranks",
      {{"", true}, {"article", true}, {"AllReduce measured", true}, {"boundary measured", true}},
      {{"",
        {{{"plain DDP", "visible", plain.all_reduce_text(), plain.boundary_text()}},
         {{"DDP and compilation", "not visible", compiled.all_reduce_text(), compiled.boundary_text()}}}}},
      {"A part counts as located by marks that are in every traced step of every rank. The article relies on the "
       "profiler's annotations; marks on the device's clock, and inside CUDA graphs as nodes, are ours.",
       measured_on(results, "PyTorch's profiler, no numbers")}};
  return {visibility_sheet(results, Detail::full), both};
}

std::vector<Sheet> snapshot_sheets(const ResultSet& results, const SnapshotsByCell& snapshots) {
  Sheet out{"Measured: snapshots of compiled graphs (stepgauge graph show)",
            {{"mode", true},
             {"regions"},
             {"nodes"},
             {"calls"},
             {"with source line"},
             {"cut at a break"},
             {"breaks"},
             {"compiled again"}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::mode)) {
    SheetGroup shown{group.title, {}};
    for (const auto& [cell, name] : group.cells) {
      if (cell->cell.compile == "eager" || cell->cell.compile == "python_eager") continue;
      SheetRow row{{name, "-", "-", "-", "-", "-"}};
      if (const auto found = snapshots.find(cell->cell.id); found != snapshots.end()) {
        const auto& counts = found->second;
        row.texts = {name,
                     std::to_string(counts.regions),
                     std::to_string(counts.nodes),
                     std::to_string(counts.calls),
                     counts.calls == 0 ? "-"
                                       : fmt::format("{:.0f} %", 100.0 * static_cast<double>(counts.placed) /
                                                                     static_cast<double>(counts.calls)),
                     std::to_string(counts.breaks)};
        for (const auto& one : counts.first_breaks) out.notes.push_back(name + ": " + printable(one));
      }
      row.texts.push_back(count_text(middle(*cell, "graph_breaks")));
      row.texts.push_back(count_text(middle(*cell, "recompiles")));
      shown.rows.push_back(std::move(row));
    }
    if (!shown.rows.empty()) out.groups.push_back(std::move(shown));
  }
  const Sheet claims{"What the article proposes",
                     {{"", true}},
                     {{"",
                       {{{"export a GraphModule whose nodes carry file, line and function, to see where a static graph "
                          "is cut"}}}}},
                     {}};
  out.notes.push_back(
      snapshots.empty()
          ? std::string(
                "The snapshots lie in the launch folders of the run (measure: {graphs: true}); from records alone "
                "only breaks and recompiles are known.")
          : std::string("Two snapshots are compared by stepgauge graph diff. Nodes without a source line are the "
                        "compiler's own, or of the backward graph."));
  return {claims, out};
}

}  // namespace stepgauge::report::detail
