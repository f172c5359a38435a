#include <algorithm>
#include <cmath>

#include "launch_model.hpp"
#include "stats/proportion.hpp"
#include "stats/summary.hpp"
#include "trials.hpp"
#include "verdict/gate.hpp"
#include "verdict/gate_schedule.hpp"

namespace stepgauge::validation {
namespace {

using verdict::GateCell;
using verdict::GateLaunch;
using verdict::GatePolicy;
using verdict::Verdict;

struct Planted {
  std::size_t rows = 0;
  double effect = 0;
};

GatePolicy policy_of(const Json& setting) {
  auto out = optional<std::string>(setting, "design", "sequential", "gates") == "fixed" ? GatePolicy{}
                                                                                        : verdict::sequential_policy();
  const auto pairs = optional<std::vector<std::size_t>>(setting, "pairs", {}, "gates");
  if (pairs.empty()) return out;
  if (pairs.size() != 2 || !out.looks.empty()) throw ContractError("gates: pairs are [N1, N2] of a fixed design");
  out.screen_pairs = pairs[0];
  out.confirm_pairs = pairs[1];
  return out;
}

std::vector<GateCell> new_cells(const LaunchModel& model) {
  std::vector<GateCell> out(model.cells);
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto& cell = out[i];
    cell.base.id = cell.head.id = "cell" + std::to_string(i);
    for (const auto& metric : model.metrics) cell.head.tolerance[metric] = {model.tolerance, 0};
  }
  return out;
}

GateLaunch launch_of(Machine& machine, const LaunchModel& model, const Planted& planted, std::size_t cell, bool head) {
  const auto worse = machine.launch(cell, head);
  GateLaunch out;
  for (std::size_t metric = 0; metric < worse.size(); ++metric) {
    const auto& info = *find_metric(model.metrics[metric]);
    const bool slower = head && cell * worse.size() + metric < planted.rows;
    const double value = worse[metric] + (slower ? std::log1p(planted.effect) : 0);
    out.metrics[info.name] = {100 * std::exp(info.better == Better::higher ? -value : value), info.unit, ""};
  }
  return out;
}

struct Totals {
  std::size_t gates = 0, blocked = 0, cheered = 0;  ///< gates with a false regression, a false improvement
  std::size_t worse = 0, better = 0, found = 0, planted = 0, rows = 0;
  std::size_t passed = 0, inconclusive = 0, not_gateable = 0, suspected = 0, confirmed_cells = 0;
  std::size_t screen_pairs = 0, new_pairs = 0;
  std::vector<double> spreads;
};

void count(const verdict::Gate& gate, const std::vector<GateCell>& cells, const LaunchModel& model,
           const Planted& planted, const GatePolicy& policy, Totals& out) {
  ++out.gates;
  std::size_t worse = 0, better = 0, row_number = 0;
  for (const auto& row : gate.rows) {
    // rows stand in the order of the cells; a metric's place is the catalogue's
    const auto place = std::find(model.metrics.begin(), model.metrics.end(), row.metric) - model.metrics.begin();
    const auto cell = row_number++ / model.metrics.size();
    const bool bad = cell * model.metrics.size() + static_cast<std::size_t>(place) < planted.rows;
    out.found += bad && row.verdict == Verdict::regressed;
    worse += !bad && row.verdict == Verdict::regressed;
    better += row.verdict == Verdict::improved;
    if (row.stage == verdict::GateStage::screen && row.spread) out.spreads.push_back(*row.spread);
  }
  out.blocked += worse > 0;
  out.cheered += better > 0;
  out.worse += worse;
  out.better += better;
  out.planted += planted.rows;
  out.rows += gate.rows.size();
  out.passed += gate.counts.passed;
  out.inconclusive += gate.counts.inconclusive;
  out.not_gateable += gate.not_gateable;
  out.suspected += gate.suspected;
  for (const auto& cell : cells) {
    out.screen_pairs += policy.screen_pairs;
    out.new_pairs += cell.tries.size() - policy.screen_pairs;
    out.confirmed_cells += cell.tries.size() > policy.screen_pairs;
  }
}

}  // namespace

Json proportion(std::size_t hits, std::size_t trials) {
  if (trials == 0) return nullptr;
  const auto bounds = stats::clopper_pearson(hits, trials);
  return {{"hits", hits},
          {"trials", trials},
          {"share", static_cast<double>(hits) / static_cast<double>(trials)},
          {"lower", bounds.lower},
          {"upper", bounds.upper}};
}

Json gates_trial(const Json& setting) {
  const auto model = launch_model(require<Json>(setting, "model", "gates"));
  const auto planted_json = optional<Json>(setting, "planted", Json::object(), "gates");
  const Planted planted{optional<std::size_t>(planted_json, "rows", 0, "planted"),
                        optional<double>(planted_json, "effect", 0, "planted")};
  auto policy = policy_of(setting);
  std::seed_seq seeds{require<std::uint32_t>(setting, "seed", "gates")};
  std::mt19937_64 random(seeds);
  Totals totals;
  const auto gates = require<std::size_t>(setting, "gates", "gates");
  for (std::size_t gate = 0; gate < gates; ++gate) {
    Machine machine(model, random());
    policy.seed = random();
    auto cells = new_cells(model);
    verdict::GateSchedule schedule(cells, policy);
    while (const auto step = schedule.next()) {
      GateLaunch launches[2];  // base, head
      const bool head_first = verdict::head_goes_first(policy.seed, step->cell, static_cast<std::size_t>(step->pair));
      for (const bool head : {head_first, !head_first})
        launches[head] = launch_of(machine, model, planted, step->cell, head);
      cells[step->cell].tries.push_back({step->stage, step->pair, std::move(launches[0]), std::move(launches[1]), ""});
    }
    count(verdict::judge_gate(cells, policy), cells, model, planted, policy, totals);
  }
  return {{"gates", totals.gates},
          {"rows", totals.rows},
          {"false_block", proportion(totals.blocked, totals.gates)},
          {"false_cheer", proportion(totals.cheered, totals.gates)},
          {"false_regressed_rows", totals.worse},
          {"improved_rows", totals.better},
          {"found", proportion(totals.found, totals.planted)},
          {"pass", totals.passed},
          {"inconclusive", totals.inconclusive},
          {"not_gateable", totals.not_gateable},
          {"suspected", totals.suspected},
          {"confirmed_cells", totals.confirmed_cells},
          {"screen_pairs", totals.screen_pairs},
          {"new_pairs", totals.new_pairs},
          {"median_spread", *stats::median(totals.spreads)}};
}

}  // namespace stepgauge::validation
