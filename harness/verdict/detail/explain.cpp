#include "verdict/detail/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "contract/plural.hpp"
#include "verdict/detail/matrix_settings.hpp"
#include "verdict/detail/outcome.hpp"
#include "verdict/detail/wording.hpp"
#include "verdict/separation.hpp"

namespace stepgauge::verdict::detail {
namespace {

struct Member {
  const Row* row = nullptr;
  const Cell* cell = nullptr;
  double worse = 0;  ///< ln or points
  double theta = 0;
  Settings settings;

  bool bad() const { return row->verdict == Verdict::regressed; }
  bool healthy() const { return row->verdict == Verdict::pass || row->verdict == Verdict::improved; }
};

using Group = std::vector<Member>;

std::set<std::string> varied(const Group& group) {
  std::set<std::string> out;
  for (const auto& member : group) out.merge(differing(group.front().settings, member.settings));
  return out;
}

/// The cell with the fewest settings away from a plain eager fp32 cell on one rank.
const Member& simplest(const Group& group) {
  const auto distance = [](const Member& member) {
    Cell plain;
    plain.worker = member.cell->worker;
    plain.device = member.cell->device;
    plain.workload = member.cell->workload;
    plain.optimizer = member.cell->optimizer;
    plain.batch = member.cell->batch;
    plain.seed = member.cell->seed;
    return differing(settings_of(plain), member.settings).size();
  };
  return *std::min_element(group.begin(), group.end(),
                           [&](const Member& a, const Member& b) { return distance(a) < distance(b); });
}

std::string group_name(const Member& member) {
  const auto& cell = *member.cell;
  return cell.worker == "stepgauge" ? cell.workload.name : cell.workload.name + " (" + cell.worker + ")";
}

std::string explain_uniform(const Group& group) {
  if (group.size() < 3) return "";
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const auto& member : group) {
    if (member.worse < member.theta) return "";
    least = std::min(least, member.worse);
    most = std::max(most, member.worse);
  }
  if (most - least > std::max(group.front().theta, 0.35 * most)) return "";
  const auto& plain = simplest(group);
  const auto axes = varied(group);
  return fmt::format(
      "{}: {} is worse in all {} cells by about the same ({} in {}, the simplest one), so {} not the cause",
      group_name(plain), plain.row->metric, group.size(), change_text(*plain.row, *plain.row->change), plain.row->cell,
      axes.empty() ? "a setting of the matrix is"
                   : fmt::format("{} {}", fmt::join(axes, ", "), axes.size() == 1 ? "is" : "are"));
}

std::string explain_single(const Group& group) {
  const auto bad = std::find_if(group.begin(), group.end(), [](const Member& m) { return m.bad(); });
  if (std::count_if(group.begin(), group.end(), [](const Member& m) { return m.bad(); }) != 1) return "";
  std::set<std::string> axes;
  std::size_t neighbours = 0;
  for (const auto& member : group) {
    const auto differ = differing(bad->settings, member.settings);
    if (differ.size() != 1) continue;
    if (!member.healthy()) return "";
    axes.insert(differ.begin(), differ.end());
    ++neighbours;
  }
  if (neighbours == 0) return "";
  return fmt::format(
      "{}: {} is worse in {} alone ({}); all {} cells that differ from it by one setting ({}) are healthy",
      group_name(*bad), bad->row->metric, bad->row->cell, change_text(*bad->row, *bad->row->change), neighbours,
      fmt::join(axes, ", "));
}

std::string explain_shared(const Group& group) {
  std::vector<SeparationCell> cells;
  for (const auto& member : group) {
    cells.push_back({member.settings, member.bad() ? Health::bad : member.healthy() ? Health::good : Health::unjudged});
  }
  const auto found = separate(cells);
  if (found.bad < 2 || found.unjudged > 0 || found.kind != SeparationKind::separated) return "";
  const auto first = std::find_if(group.begin(), group.end(), [](const Member& m) { return m.bad(); });
  return fmt::format("{}: {} is worse in exactly the {} of {} cells with {}", group_name(*first), first->row->metric,
                     found.bad, group.size(), text_of(found.conjunctions.front()));
}

/// Rows with numbers of one metric and workload, where at least one regressed.
std::vector<Group> groups_of(const std::vector<Row>& rows, const std::vector<Pair>& pairs) {
  std::unordered_map<std::string, const Cell*> cells;
  for (const auto& pair : pairs) cells.emplace(pair.head->cell.id, &pair.head->cell);
  std::map<std::string, Group> groups;
  for (const auto& row : rows) {
    if (!row.blocking || !row.change || !row.threshold) continue;
    const auto found = cells.find(row.cell);
    if (found == cells.end()) continue;
    const bool ratio = row.scale == Scale::ratio;
    const double diff = ratio ? std::log1p(*row.change) : *row.change;
    groups[row.metric + "\n" + found->second->workload.name + "\n" + found->second->worker].push_back(
        {&row,
         found->second,
         row.better == Better::higher ? -diff : diff,
         ratio ? std::log1p(*row.threshold) : *row.threshold,
         {}});
  }
  std::vector<Group> out;
  for (auto& [key, group] : groups) {
    if (std::none_of(group.begin(), group.end(), [](const Member& m) { return m.bad(); })) continue;
    for (auto& member : group) member.settings = settings_of(*member.cell);
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace

std::vector<Summary> summarise(const std::vector<Row>& rows) {
  std::vector<Summary> out;
  for (const auto& metric : metric_catalogue()) {
    if (metric.scale != Scale::ratio) continue;
    double sum = 0;
    std::size_t cells = 0;
    for (const auto& row : rows) {
      if (row.metric != metric.name || !row.change) continue;
      sum += std::log1p(*row.change);
      ++cells;
    }
    if (cells != 0) out.push_back({metric.name, std::expm1(sum / static_cast<double>(cells)), cells});
  }
  return out;
}

std::vector<std::string> explain(const std::vector<Row>& rows, const std::vector<Pair>& pairs) {
  std::vector<std::string> out;
  for (const auto& group : groups_of(rows, pairs)) {
    for (auto* rule : {&explain_uniform, &explain_single, &explain_shared}) {
      auto line = (*rule)(group);
      if (line.empty()) continue;
      out.push_back(std::move(line));
      break;
    }
  }
  return out;
}

std::vector<std::string> unjudged_notes(const std::vector<Pair>& pairs, const std::vector<const MetricInfo*>& metrics) {
  std::set<std::string> unknown;
  std::map<std::string, std::pair<std::size_t, std::string>> absent;
  for (const auto& pair : pairs) {
    std::map<std::string, std::string> here;  // blocking metric without a value anywhere in head -> reason
    for (const auto* metric : metrics) {
      if (metric->blocking) here.emplace(metric->name, "");
    }
    for (const auto* cell : {pair.base, pair.head}) {
      for (const auto& launch : cell->launches) {
        if (launch.status != Status::ok) continue;
        for (const auto& [name, value] : launch.metrics) {
          if (value.value) {
            here.erase(name);
          } else if (const auto found = here.find(name); found != here.end()) {
            found->second = value.absent;
          }
        }
      }
      if (cell->launches.empty()) continue;
      for (const auto& [name, value] : cell->launches.front().metrics) {
        if (find_metric(name) == nullptr) unknown.insert(name);
      }
    }
    if (outcome_of(*pair.head).ok() == 0) continue;
    for (const auto& [name, reason] : here) {
      ++absent[name].first;
      if (absent[name].second.empty()) absent[name].second = reason;
    }
  }
  std::vector<std::string> out, parts;
  for (const auto& [name, item] : absent) {
    parts.push_back(
        fmt::format("{} ({}{}{})", name, plural(item.first, "cell"), item.second.empty() ? "" : ": ", item.second));
  }
  if (!parts.empty()) out.push_back(fmt::format("no value on either side: {}", fmt::join(parts, ", ")));
  if (!unknown.empty()) {
    out.push_back(fmt::format("not judged, unknown to this version: {}", fmt::join(unknown, ", ")));
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
