#include "report/detail/cell_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/detail/escape.hpp"

namespace stepgauge::report::detail {
namespace {

bool is_nccl_variable(const std::string& name) {
  return name.starts_with("NCCL_");
}

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
    case Axis::topology: {
      const CellDdp standard;
      auto& ddp = cell.ddp;
      ddp.transport = standard.transport;
      ddp.interface = ddp.algorithm = ddp.protocol = ddp.topology_file = "";
      ddp.channels = standard.channels;
      std::erase_if(cell.env, [](const auto& variable) { return is_nccl_variable(variable.first); });
      break;
    }
    case Axis::overlap:
      cell.ddp.overlap = CellDdp{}.overlap;
      break;
    case Axis::hook:
      cell.ddp.hook.clear();
      cell.ddp.hook_share = CellDdp{}.hook_share;
      cell.ddp.hook_rank = CellDdp{}.hook_rank;
      cell.ddp.error_feedback = true;
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
  // An id has its mode second and its precision third; the plain values of the other axes are not written.
  const bool written = axis == Axis::mode || axis == Axis::precision;
  if (written && parts.size() > 2) parts.erase(parts.begin() + (axis == Axis::mode ? 1 : 2));
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

std::string topology_value(const Cell& cell) {
  const auto& ddp = cell.ddp;
  std::vector<std::string> parts{ddp.transport};
  for (const auto* text : {&ddp.interface, &ddp.algorithm, &ddp.protocol}) {
    if (!text->empty()) parts.push_back(*text);
  }
  if (ddp.channels > 0) parts.push_back(fmt::format("{} channels", ddp.channels));
  if (!ddp.topology_file.empty()) parts.push_back("topology file");
  for (const auto& [name, value] : cell.env) {
    if (is_nccl_variable(name)) parts.push_back(name + "=" + value);
  }
  return printable(fmt::format("{}", fmt::join(parts, ", ")));
}

std::string hook_value(const CellDdp& ddp) {
  if (ddp.hook.empty()) return "no hook";
  auto out = ddp.hook;
  if (is_top_k(ddp.hook)) out += fmt::format(" {:g} %", 100 * ddp.hook_share);
  if (ddp.hook == "power_sgd") out += fmt::format(" rank {}", ddp.hook_rank);
  return printable(ddp.error_feedback ? out : out + ", no feedback");
}

}  // namespace

std::string axis_value(const Cell& cell, Axis axis) {
  if (axis == Axis::mode) return mode_value(cell);
  if (axis == Axis::topology) return topology_value(cell);
  if (axis == Axis::overlap) return printable(cell.ddp.overlap);
  if (axis == Axis::hook) return hook_value(cell.ddp);
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

const CellResults* plain_twin(const ResultSet& results, const Cell& cell, Axis axis) {
  const auto wanted = without(cell, axis).hash;
  const auto found = std::find_if(results.cells.begin(), results.cells.end(), [&](const CellResults& other) {
    return without(other.cell, axis).hash == wanted &&
           axis_value(other.cell, axis) == axis_value(without(cell, axis), axis);
  });
  return found == results.cells.end() ? nullptr : &*found;
}

const CellResults* twin_without_checkpointing(const ResultSet& results, const Cell& cell) {
  return plain_twin(results, cell, Axis::checkpointing);
}

}  // namespace stepgauge::report::detail
