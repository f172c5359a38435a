#include "verdict/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "verdict/detail/calibration_row.hpp"

namespace stepgauge::verdict {
namespace {

std::string statuses_text(const std::map<std::string, std::size_t>& statuses) {
  std::string out;
  for (const auto& [status, count] : statuses) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, status);
  return out.empty() ? "no launch" : out;
}

std::vector<const CalibrationCell*> sessions_of(const Cell& cell, const std::vector<const CalibrationSession*>& all) {
  std::vector<const CalibrationCell*> out;
  for (const auto* session : all) {
    for (const auto& one : session->cells) {
      if (one.hash == cell.hash && one.id == cell.id) out.push_back(&one);
    }
  }
  return out;
}

CalibrationCellResult cell_result(const Cell& cell, const std::vector<const CalibrationCell*>& sessions) {
  CalibrationCellResult out;
  out.id = cell.id;
  double seconds = 0;
  for (const auto* session : sessions) {
    for (const auto& [status, count] : session->statuses) out.statuses[status] += count;
    for (const auto& launch : session->launches) seconds += launch.duration_s;
    out.launches += session->launches.size();
    out.sessions += !session->launches.empty();
  }
  if (out.launches > 0) out.launch_s = seconds / static_cast<double>(out.launches);
  out.measured = out.launches >= least_launches;
  if (sessions.empty()) {
    out.reason = "never calibrated on this machine";
  } else if (!out.measured) {
    out.reason = fmt::format("{}: {} ok launches are needed", statuses_text(out.statuses), least_launches);
  }
  return out;
}

/// Chance that the screen suspects some row of the cell although nothing changed, as if its metrics were independent.
double false_suspicion_of(std::span<const CalibrationRow> rows) {
  double none = 1;
  for (const auto& row : rows) {
    if (row.blocking && row.false_suspicion) none *= 1 - *row.false_suspicion;
  }
  return 1 - none;
}

void count(const CalibrationRow& row, Calibration& out) {
  if (!row.blocking) return;
  ++(!row.measured ? out.not_measured : row.gateable ? out.gateable : out.not_gateable);
  if (!row.gateable || !row.needed || row.exact) return;
  if (!out.suggested) out.suggested = GatePairs{};
  out.suggested->screen = std::max(out.suggested->screen, row.needed->screen);
  out.suggested->confirm = std::max(out.suggested->confirm, row.needed->confirm);
}

void add_notes(Calibration& out) {
  std::size_t drifting = 0;
  for (const auto& row : out.rows) drifting += row.blocking && row.drift_z.value_or(0) < drift_limit;
  if (drifting > 0) {
    out.notes.push_back(fmt::format(
        "{} blocking row{} (~): launches far apart differ more than those in succession. Pairs cancel most of that; "
        "launches of two sessions would not",
        drifting, drifting == 1 ? " drifts" : "s drift"));
  }
  if (out.sessions > 1 && out.days == 1)
    out.notes.push_back("all sessions are of one day: what differs between days is not in the session's spread");
  if (out.sessions > 1 && out.commits.size() > 1) {
    out.notes.push_back(fmt::format("the sessions are of {} commits: what those changed is in the session's spread",
                                    out.commits.size()));
  }
}

}  // namespace

bool is_found(const CalibrationRow& row, const GateWish& wish) {
  if (!row.measured || !row.gateable) return false;
  return wish.fixed_pairs ? row.power.value_or(0) >= wish.power : row.needed.has_value();
}

Calibration judge_calibration(const std::vector<Cell>& cells, const std::vector<CalibrationSession>& sessions,
                              const GateWish& wish) {
  Calibration out;
  std::vector<const CalibrationSession*> ordered;
  for (const auto& session : sessions) ordered.push_back(&session);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto* a, const auto* b) { return a->measured_at < b->measured_at; });
  std::set<std::string> days;
  for (const auto* session : ordered) {
    days.insert(session->measured_at.substr(0, 10));
    if (std::find(out.commits.begin(), out.commits.end(), session->commit) == out.commits.end())
      out.commits.push_back(session->commit);
  }
  out.sessions = ordered.size();
  out.days = days.size();
  if (!ordered.empty()) {
    out.first_measured_at = ordered.front()->measured_at;
    out.last_measured_at = ordered.back()->measured_at;
  }
  for (const auto& cell : cells) {
    const auto own = sessions_of(cell, ordered);
    auto& result = out.cells.emplace_back(cell_result(cell, own));
    const auto begin = out.rows.size();
    for (const auto& metric : metric_catalogue()) {
      if (metric.better == Better::neither) continue;
      if (auto row = detail::calibration_row(cell, metric, own, wish)) out.rows.push_back(std::move(*row));
    }
    for (auto i = begin; i < out.rows.size(); ++i) count(out.rows[i], out);
    result.false_suspicion = false_suspicion_of(std::span(out.rows).subspan(begin));
    if (!result.launch_s) continue;
    const double pair_s = 2 * *result.launch_s;
    const double screen_s = pair_s * static_cast<double>(wish.gate.screen_pairs);
    const double confirm_s = pair_s * static_cast<double>(wish.gate.confirm_pairs);
    out.totals.screen_s += screen_s;
    out.totals.confirm_s += confirm_s;
    out.totals.expected_s += screen_s + confirm_s * result.false_suspicion;
  }
  add_notes(out);
  return out;
}

}  // namespace stepgauge::verdict
