#include "report/graph_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "contract/plural.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/table.hpp"

namespace stepgauge::report {
namespace {

using detail::Color;
using detail::printable;

constexpr std::size_t most_regions = 100;
constexpr std::size_t most_nodes = 1000;
constexpr std::size_t place_columns = 44;
constexpr std::size_t shape_columns = 22;
constexpr std::size_t shown_names = 4;

std::string shortened(const std::string& text, std::size_t width) {
  return detail::shorten_middle(printable(text), width, width / 2);
}

std::string more(std::size_t all, std::size_t shown, const char* what) {
  return all > shown ? fmt::format("... and {} more {}; --json has all of them\n", all - shown, what) : "";
}

std::string heading(const std::string& source, const std::string& mode, const std::string& cell, const Style& style) {
  std::string out = printable(source);
  if (!mode.empty()) out += ": " + printable(mode);
  if (!cell.empty()) out += ", " + printable(cell);
  return detail::paragraph(out, style);
}

std::string regions_text(const graph::View& view, const Style& style) {
  detail::Table table({{"region", true}, {"nodes"}, {"calls"}, {"from", true}, {"ended", true}});
  const auto shown = std::min(view.regions.size(), most_regions);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& region = view.regions[i];
    const bool broken = region.ended.starts_with("graph break");
    table.add({printable(region.kind + ":" + region.name), std::to_string(region.nodes), std::to_string(region.calls),
               shortened(graph::place_text(region.place), place_columns),
               broken ? "graph break" : shortened(region.ended, 16)},
              broken ? Color::yellow : Color::none);
  }
  return table.text(style) + more(view.regions.size(), shown, "regions");
}

/// Why regions ended, in full; once for what was captured and what was made of it.
std::string breaks_text(const graph::View& view, const Style& style) {
  std::string out;
  std::set<std::pair<std::string, std::string>> shown;
  for (const auto& region : view.regions) {
    if (!region.ended.starts_with("graph break") || shown.size() > most_regions) continue;
    if (!shown.emplace(region.name, region.ended).second) continue;
    out += detail::paragraph(
        fmt::format("{}:{} ended at a {}", printable(region.kind), printable(region.name), printable(region.ended)),
        style);
  }
  return out.empty() ? out : "\n" + out;
}

std::string targets_text(const graph::View& view, const Style& style) {
  if (view.targets.empty()) return "";
  detail::Table table({{"target", true}, {"graph", true}, {"nodes"}});
  for (const auto& one : view.targets)
    table.add({printable(one.target), printable(one.kind), std::to_string(one.count)});
  return "\nWhat is called most\n" + table.text(style) +
         (view.other_targets > 0 ? fmt::format("... and {} (--top)\n", plural(view.other_targets, "other target"))
                                 : "");
}

std::string nodes_text(const graph::View& view, const Style& style) {
  if (view.nodes.empty()) return "";
  detail::Table table({{"node", true}, {"target", true}, {"shape", true}, {"from", true}});
  const auto shown = std::min(view.nodes.size(), most_nodes);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& node = view.nodes[i];
    table.add({printable(node.name), shortened(node.target, 28), shortened(graph::shape_text(node), shape_columns),
               shortened(graph::place_text(node.place), 30)});
  }
  return "\nNodes\n" + table.text(style) + more(view.nodes.size(), shown, "nodes");
}

std::string sides(std::size_t a, std::size_t b) {
  return a == b ? std::to_string(a) : fmt::format("{} -> {}", a, b);
}

std::string region_names(const graph::RegionChange& region) {
  if (region.in_a.empty()) return "+ " + printable(region.in_b);
  if (region.in_b.empty()) return "- " + printable(region.in_a);
  return region.in_a == region.in_b ? printable(region.in_a) : printable(region.in_a) + " -> " + printable(region.in_b);
}

std::string diff_regions_text(const graph::SnapshotDiff& diff, const Style& style) {
  detail::Table table({{"region", true}, {"calls"}, {"from", true}});
  std::string ends;
  const auto shown = std::min(diff.regions.size(), most_regions);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& region = diff.regions[i];
    table.add({region_names(region), sides(region.nodes_a, region.nodes_b),
               shortened(graph::place_text(region.place), place_columns)});
    if (region.ended_a == region.ended_b) continue;
    const auto text = [](const std::string& ended) { return ended.empty() ? std::string("-") : printable(ended); };
    ends += detail::paragraph(
        fmt::format("{} ended: {} -> {}", region_names(region), text(region.ended_a), text(region.ended_b)), style);
  }
  return table.text(style) + more(diff.regions.size(), shown, "regions") + ends;
}

std::string between(const graph::NodeChange& change) {
  if (change.change == graph::Change::moved) return printable(change.from) + " -> " + printable(change.to);
  return printable(change.change == graph::Change::vanished ? change.from : change.to);
}

/// "mul_3, mul_4 and 5 more"
std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), shown_names); ++i) shown.push_back(printable(names[i]));
  const auto rest = names.size() - shown.size();
  return fmt::format("{}{}", fmt::join(shown, ", "), rest > 0 ? fmt::format(" and {} more", rest) : "");
}

std::string changes_text(const graph::SnapshotDiff& diff, std::size_t top, const Style& style) {
  if (diff.changes.empty()) return "";
  std::string out = "\n";
  const auto shown = std::min(diff.changes.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& change = diff.changes[i];
    const auto place = graph::place_text(change.place);
    const auto color = change.change == graph::Change::moved      ? Color::yellow
                       : change.change == graph::Change::vanished ? Color::red
                                                                  : Color::green;
    out += detail::paragraph(
        fmt::format("{} {} x {}{}{} in {}: {}", detail::colored(std::string(to_string(change.change)), color, style),
                    change.names.size(), printable(change.target),
                    change.shape.empty() ? "" : " " + printable(change.shape),
                    place.empty() ? "" : " at " + printable(place), between(change), names_text(change.names)),
        style);
  }
  if (diff.changes.size() > shown) out += fmt::format("... and {} more rows (--top)\n", diff.changes.size() - shown);
  return out;
}

}  // namespace

std::string graph_table(const graph::View& view, const Style& style) {
  auto out = heading(view.source, view.mode, view.cell_id, style);
  if (view.regions.empty()) return out + "no compiled region\n";
  return out + "\n" + regions_text(view, style) + breaks_text(view, style) + targets_text(view, style) +
         nodes_text(view, style);
}

std::string graph_diff_table(const graph::SnapshotDiff& diff, std::size_t top, const Style& style) {
  auto out =
      "A " + heading(diff.a, diff.mode_a, diff.cell_a, style) + "B " + heading(diff.b, diff.mode_b, diff.cell_b, style);
  out +=
      fmt::format("\n{} the same{}, {} moved to another region, {} vanished, {} appeared\n", plural(diff.same, "node"),
                  diff.other_line > 0 ? fmt::format(" ({} from another source line)", diff.other_line) : "", diff.moved,
                  diff.vanished, diff.appeared);
  if (!diff.regions.empty()) out += "\n" + diff_regions_text(diff, style);
  return out + changes_text(diff, top, style);
}

}  // namespace stepgauge::report
