#include <cmath>

#include "launch_model.hpp"
#include "stats/moderated.hpp"
#include "stats/paired.hpp"
#include "trials.hpp"
#include "verdict/gate.hpp"
#include "verdict/gate_schedule.hpp"

namespace stepgauge::validation {
namespace {

using Values = std::vector<double>;

constexpr const char* metric = "first_step_latency";  ///< smaller is better, on the ratio scale
constexpr double level = 0.05;

struct Row {
  Values base, head;
};

std::vector<Row> rows_of(const Json& gate) {
  std::vector<Row> out;
  for (const auto& row : gate)
    out.push_back({require<Values>(row, "base", "pairs: row"), require<Values>(row, "head", "pairs: row")});
  return out;
}

verdict::GateLaunch launch_of(double value) {
  verdict::GateLaunch out;
  out.metrics[metric] = {value, find_metric(metric)->unit, ""};
  return out;
}

/// The gate of these rows along the product's schedule; pair k has the k-th values.
verdict::Gate gate_of(const std::vector<Row>& rows, const verdict::GatePolicy& policy, double tolerance) {
  std::vector<verdict::GateCell> cells(rows.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].base.id = cells[i].head.id = "cell" + std::to_string(i);
    cells[i].head.tolerance[metric] = {tolerance, 0};
  }
  verdict::GateSchedule schedule(cells, policy);
  while (const auto step = schedule.next()) {
    const auto& row = rows[step->cell];
    const auto pair = static_cast<std::size_t>(step->pair);
    cells[step->cell].tries.push_back(
        {step->stage, step->pair, launch_of(row.base.at(pair)), launch_of(row.head.at(pair)), ""});
  }
  return verdict::judge_gate(cells, policy);
}

Values differences_of(const Row& row) {
  Values out;
  for (std::size_t i = 0; i < std::min(row.base.size(), row.head.size()); ++i)
    out.push_back(std::log(row.head[i]) - std::log(row.base[i]));
  return out;
}

}  // namespace

Json pairs_trial(const Json& setting) {
  const auto numbers = require<std::vector<std::size_t>>(setting, "pairs", "pairs");
  if (numbers.size() != 2) throw ContractError("pairs: \"pairs\" is [N1, N2]");
  verdict::GatePolicy policy;
  policy.screen_pairs = numbers[0];
  policy.confirm_pairs = numbers[1];
  const auto tolerance = require<double>(setting, "tolerance", "pairs");
  std::size_t gates = 0, rows = 0, regressed = 0, improved = 0, blocked = 0, inconclusive = 0, tests = 0, rejected = 0;
  for (const auto& gate_json : require<Json>(setting, "gates", "pairs")) {
    const auto given = rows_of(gate_json);
    policy.seed = gates++;
    const auto gate = gate_of(given, policy, tolerance);
    rows += gate.rows.size();
    regressed += gate.counts.regressed;
    improved += gate.counts.improved;
    inconclusive += gate.counts.inconclusive;
    blocked += gate.counts.regressed > 0;
    for (const auto& row : given) {
      auto sample = stats::paired(differences_of(row)).value();
      for (int direction = 0; direction < 2; ++direction, sample.mean = -sample.mean) {
        ++tests;
        rejected += stats::paired_p_above(sample, 0) < level;
      }
    }
  }
  return {{"gates", gates},
          {"rows", rows},
          {"regressed", regressed},
          {"improved", improved},
          {"inconclusive", inconclusive},
          {"false_rows", proportion(regressed + improved, rows)},
          {"blocked_gates", proportion(blocked, gates)},
          {"rejected_at_005", proportion(rejected, tests)}};
}

Json level_trial(const Json& setting) {
  const auto model = launch_model(require<Json>(setting, "model", "level"));
  const auto pairs = require<std::size_t>(setting, "pairs", "level");
  const auto rounds = require<std::size_t>(setting, "rounds", "level");
  std::seed_seq seeds{require<std::uint32_t>(setting, "seed", "level")};
  std::mt19937_64 random(seeds);
  std::size_t rejected = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    auto one = model;
    one.cells = 1;
    Machine machine(one, random());
    const auto seed = random();
    Values differences;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      double values[2] = {};
      const bool head_first = verdict::head_goes_first(seed, 0, pair);
      for (const bool head : {head_first, !head_first}) values[head] = machine.launch(0, head).at(0);
      differences.push_back(values[1] - values[0]);
    }
    rejected += stats::paired_p_above(stats::paired(differences).value(), 0) < level;
  }
  return {{"rejected", proportion(rejected, rounds)}};
}

Json moderated_trial(const Json& setting) {
  const auto number = [&](const char* key) { return require<double>(setting, key, "moderated"); };
  const auto pairs = require<std::size_t>(setting, "pairs", "moderated");
  const auto rounds = require<std::size_t>(setting, "rounds", "moderated");
  const double s_d = number("s_d"), wander = number("wander"), theta = std::log1p(number("tolerance"));
  const double effect = std::log1p(number("effect"));
  std::seed_seq seeds{require<std::uint32_t>(setting, "seed", "moderated")};
  std::mt19937_64 random(seeds);
  std::normal_distribution<double> normal;
  std::size_t refused = 0, level_plain = 0, level_moderated = 0, found_plain = 0, found_moderated = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const double now = s_d * std::exp(wander * normal(random));  // the noise of today is not that of the prior
    Values quiet;
    for (std::size_t pair = 0; pair < pairs; ++pair) quiet.push_back(now * normal(random));
    const auto plain = stats::paired(quiet).value();
    const auto better = stats::moderated(plain, {.variance = s_d * s_d});
    refused += !better;
    const auto sample = better.value_or(plain);
    level_plain += stats::paired_p_above(plain, 0) < level;
    level_moderated += stats::paired_p_above(sample, 0) < level;
    found_plain += stats::paired_p_above(plain, 0.25 * theta - effect) < level;
    found_moderated += stats::paired_p_above(sample, 0.25 * theta - effect) < level;
  }
  return {{"refused", proportion(refused, rounds)},
          {"level_plain", proportion(level_plain, rounds)},
          {"level_moderated", proportion(level_moderated, rounds)},
          {"found_plain", proportion(found_plain, rounds)},
          {"found_moderated", proportion(found_moderated, rounds)}};
}

}  // namespace stepgauge::validation
