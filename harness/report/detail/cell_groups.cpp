#include "report/detail/cell_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/detail/escape.hpp"

namespace stepgauge::report::detail {
namespace {

/// The cell with the axis at its plain value: equal for all cells of a group.
Cell without(Cell cell, Axis axis) {
  switch (axis) {
    case Axis::mode:
      cell.compile = "eager";
      cell.compile_options = {};
      cell.cache.clear();
      cell.ddp.wrapper.clear();
      cell.worker = "stepgauge";
      break;
    case Axis::precision:
      cell.precision = "fp32";
      break;
    case Axis::checkpointing:
      cell.checkpointing = "none";
      break;
  }
  assign_identity(cell);
  return cell;
}

/// Parts of an id between its slashes, without the hash: workload, mode, precision, and the others.
std::vector<std::string> segments_of(const std::string& id) {
  const auto text = id.substr(0, id.rfind('-'));
  std::vector<std::string> out;
  for (std::size_t begin = 0;;) {
    const auto slash = text.find('/', begin);
    out.push_back(text.substr(begin, slash - begin));
    if (slash == std::string::npos) return out;
    begin = slash + 1;
  }
}

std::string title_of(const Cell& cell, Axis axis) {
  auto parts = segments_of(without(cell, axis).id);
  // An id has its mode second and its precision third; checkpointing none is not written.
  if (axis != Axis::checkpointing && parts.size() > 2) parts.erase(parts.begin() + (axis == Axis::mode ? 1 : 2));
  return printable(fmt::format("{}", fmt::join(parts, "/")));
}

std::string mode_value(const Cell& cell) {
  auto named = cell;
  assign_identity(named);
  const auto parts = segments_of(named.id);
  auto out = parts.size() > 1 ? parts[1] : cell.compile;
  if (cell.ddp.wrapper == "reducer") out += " (reducer)";
  if (cell.worker != "stepgauge") out += fmt::format(" ({})", cell.worker);
  return printable(out);
}

}  // namespace

std::string axis_value(const Cell& cell, Axis axis) {
  if (axis == Axis::mode) return mode_value(cell);
  return printable(axis == Axis::precision ? cell.precision : cell.checkpointing);
}

std::vector<CellGroup> group_cells(const ResultSet& results, Axis axis) {
  std::vector<CellGroup> out;
  std::map<std::string, std::size_t> known;  // hash of the plain cell -> index
  for (const auto& cell : results.cells) {
    const auto [found, is_new] = known.try_emplace(without(cell.cell, axis).hash, out.size());
    if (is_new) out.push_back({title_of(cell.cell, axis), {}});
    out[found->second].cells.push_back({&cell, axis_value(cell.cell, axis)});
  }
  std::map<std::string, int> titles;
  for (const auto& group : out) ++titles[group.title];
  for (auto& group : out) {
    if (titles[group.title] > 1) group.title += " (" + group.cells.front().results->cell.hash + ")";
  }
  return out;
}

const CellResults* twin_without_checkpointing(const ResultSet& results, const Cell& cell) {
  const auto wanted = without(cell, Axis::checkpointing).hash;
  const auto found = std::find_if(results.cells.begin(), results.cells.end(), [&](const CellResults& other) {
    return other.cell.checkpointing == "none" && without(other.cell, Axis::checkpointing).hash == wanted;
  });
  return found == results.cells.end() ? nullptr : &*found;
}

}  // namespace stepgauge::report::detail
