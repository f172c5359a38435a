#include "cli/history_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "config/config_error.hpp"
#include "config/glob.hpp"
#include "config/selection.hpp"

namespace stepgauge::cli {
namespace {

struct Name {
  std::string cell;   ///< id
  std::string plain;  ///< id without its hash
  const MetricInfo* metric;
};

std::string plain_id(const store::HistoryCell& cell) {
  const auto suffix = "-" + cell.hash;
  const auto size = cell.id.size();
  return size > suffix.size() && cell.id.ends_with(suffix) ? cell.id.substr(0, size - suffix.size()) : cell.id;
}

bool matches(const std::string& glob, const Name& name) {
  for (const auto* id : {&name.cell, &name.plain}) {
    if (config::glob_match(glob, *id) || config::glob_match(glob, *id + ":" + name.metric->name)) return true;
  }
  return false;
}

/// Index in the catalogue of each metric that has a direction.
const std::unordered_map<std::string, std::size_t>& judged_metrics() {
  static const auto places = [] {
    std::unordered_map<std::string, std::size_t> out;
    for (std::size_t i = 0; i < metric_catalogue().size(); ++i) {
      if (metric_catalogue()[i].better != Better::neither) out.emplace(metric_catalogue()[i].name, i);
    }
    return out;
  }();
  return places;
}

/// Every series that any night has: cells in the order in which they first came, metrics in that of the catalogue.
std::vector<Name> names_of(const store::History& history) {
  struct Seen {
    const store::HistoryCell* cell;
    std::set<std::size_t> metrics;
  };
  std::vector<Seen> cells;
  std::unordered_map<std::string, std::size_t> places;
  for (const auto& night : history.nights) {
    for (const auto& cell : night.tip.cells) {
      const auto [place, fresh] = places.emplace(cell.id, cells.size());
      if (fresh) cells.push_back({&cell, {}});
      for (const auto& [metric, values] : cell.metrics) {
        const auto known = judged_metrics().find(metric);
        if (known != judged_metrics().end()) cells[place->second].metrics.insert(known->second);
      }
    }
  }
  std::vector<Name> out;
  for (const auto& seen : cells) {
    for (const auto index : seen.metrics) {
      out.push_back({seen.cell->id, plain_id(*seen.cell), &metric_catalogue()[index]});
    }
  }
  return out;
}

[[noreturn]] void fail_unmatched(const std::string& option, const std::string& glob, const std::vector<Name>& names) {
  if (names.empty()) throw config::ConfigError("", 0, 0, fmt::format("{} \"{}\": there is no series", option, glob));
  std::vector<std::string> known;
  for (const auto& name : names) known.push_back(name.plain + ":" + name.metric->name);
  throw config::ConfigError("", 0, 0,
                            fmt::format("{} \"{}\": names none of {} series; the nearest is \"{}\"", option, glob,
                                        names.size(), config::nearest_to_glob(glob, known)));
}

std::string outcome_text(const store::HistoryCell& cell) {
  std::string out;
  for (const auto& status : all_statuses()) {
    const auto found = cell.statuses.find(std::string(to_string(status)));
    if (found != cell.statuses.end())
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", found->second, found->first);
  }
  return out.empty() ? "no launch" : out;
}

using Places = std::unordered_map<std::string, std::size_t>;  ///< "CELL:METRIC" -> index of the series

enum class Build { tip, reference };

void take_values(const store::HistoryRun& run, std::size_t night, Build build, const Places& places,
                 std::vector<verdict::TrendSeries>& series) {
  for (const auto& cell : run.cells) {
    for (const auto& [metric, values] : cell.metrics) {
      const auto place = places.find(cell.id + ":" + metric);
      if (place == places.end()) continue;
      auto& target = series[place->second];
      (build == Build::tip ? target.tip : target.reference)[night] = values.values;
      if (build == Build::reference) continue;
      target.unit = values.unit;
      const auto own = cell.tolerance.find(metric);
      target.tolerance = own == cell.tolerance.end() ? CellTolerance{} : own->second;
    }
  }
}

std::size_t night_of(const store::History& history, const std::string& run) {
  const auto* night = history.find(run);
  return static_cast<std::size_t>(night - history.nights.data());
}

/// Of one series, in order of the file.
std::vector<verdict::TrendConfirmation> confirmations_of(const store::History& history, const Name& name) {
  std::vector<verdict::TrendConfirmation> out;
  for (const auto& item : history.confirmations) {
    if (item.cell != name.cell || item.metric != name.metric->name) continue;
    auto& target = out.emplace_back();
    target.last_good = night_of(history, item.last_good.night);
    target.first_bad = night_of(history, item.first_bad.night);
    target.alarm_size = item.alarm_size;
    target.verdict = item.verdict;
    target.reason = item.reason;
    target.pairs = item.pairs;
    target.change = item.change;
    target.ci_lower = item.ci_lower;
    target.ci_upper = item.ci_upper;
    target.at = item.at;
  }
  return out;
}

}  // namespace

std::size_t count_series(const store::History& history, const std::string& glob, const std::string& option) {
  const auto names = names_of(history);
  const auto count = std::count_if(names.begin(), names.end(), [&](const Name& name) { return matches(glob, name); });
  if (count == 0) fail_unmatched(option, glob, names);
  return static_cast<std::size_t>(count);
}

verdict::TrendInput trend_input(const store::History& history, const SeriesChoice& choice) {
  verdict::TrendInput out;
  out.suite = history.suite;
  out.machine = history.slug;
  out.notes = history.notes;
  Places places;
  for (const auto& name : names_of(history)) {
    const auto named = [&](const std::string& glob) { return matches(glob, name); };
    if (!choice.metric.empty() && name.metric->name != choice.metric) continue;
    if (!choice.only.empty() && std::none_of(choice.only.begin(), choice.only.end(), named)) continue;
    places.emplace(name.cell + ":" + name.metric->name, out.series.size());
    auto& series = out.series.emplace_back();
    series.cell = name.cell;
    series.metric = name.metric;
    series.tip.resize(history.nights.size());
    series.reference.resize(history.nights.size());
    for (const auto& item : history.acknowledgements) {
      if (matches(item.series, name)) series.known.push_back({night_of(history, item.night), item.reason, item.by});
    }
    series.confirmations = confirmations_of(history, name);
  }
  for (std::size_t i = 0; i < history.nights.size(); ++i) {
    const auto& night = history.nights[i];
    out.nights.push_back({night.tip.run, night.tip.created_at, night.tip.commit, std::nullopt});
    take_values(night.tip, i, Build::tip, places, out.series);
    if (!night.reference) continue;
    out.nights.back().reference_commit = night.reference->commit;
    take_values(*night.reference, i, Build::reference, places, out.series);
  }
  if (!history.nights.empty()) {
    std::map<std::string, std::string> outcomes;
    for (const auto& cell : history.nights.back().tip.cells) outcomes[cell.id] = outcome_text(cell);
    for (auto& series : out.series) series.last_outcome = outcomes[series.cell];
  }
  if (!history.pins.empty()) out.pin = {night_of(history, history.pins.back().night), history.pins.back().name};
  return out;
}

void require_matches(const std::vector<store::History>& histories, const SeriesChoice& choice) {
  if (choice.only.empty()) return;
  std::vector<Name> names;
  for (const auto& history : histories) {
    for (auto& name : names_of(history)) names.push_back(std::move(name));
  }
  for (const auto& glob : choice.only) {
    const auto named = [&](const Name& name) { return matches(glob, name); };
    if (std::none_of(names.begin(), names.end(), named)) fail_unmatched("--only", glob, names);
  }
}

}  // namespace stepgauge::cli
