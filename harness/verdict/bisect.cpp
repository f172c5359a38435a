#include "verdict/bisect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "contract/short_commit.hpp"
#include "verdict/detail/row_json.hpp"
#include "verdict/detail/wording.hpp"

namespace stepgauge::verdict {
namespace {

using detail::json_of;

std::vector<std::optional<BisectAnswer>> answers_of_commits(const Bisect& bisect) {
  std::vector<std::optional<BisectAnswer>> out(bisect.commits.size());
  if (!out.empty()) out.front() = BisectAnswer::same;
  for (const auto& step : bisect.steps) {
    if (step.index) out[*step.index] = step.test.answer;
  }
  return out;
}

std::map<SettingSubset, BisectAnswer> answers_of_subsets(const Bisect& bisect) {
  std::map<SettingSubset, BisectAnswer> out;
  for (const auto& step : bisect.steps) out[step.subset] = step.test.answer;
  return out;
}

std::string commit_text(const BisectCommit& commit) {
  return fmt::format("{}{}{}{}", short_commit(commit.id), commit.title.empty() ? "" : " (", commit.title,
                     commit.title.empty() ? "" : ")");
}

std::string change_of(const Bisect& bisect, const BisectTest& test) {
  if (!test.change) return test.reason;
  const auto* info = find_metric(bisect.metric);
  return fmt::format("{} {}{}", bisect.metric, *test.change < 0 ? "-" : "+",
                     detail::size_text(bisect.scale(), info == nullptr ? "" : info->unit, *test.change));
}

void conclude_commits(Bisect& bisect) {
  const auto answers = answers_of_commits(bisect);
  const auto range = commit_range(answers);
  bisect.suspects.clear();
  for (auto i = range.last_good + 1; i <= range.first_bad; ++i) bisect.suspects.push_back(bisect.commits[i].id);
  if (range.found()) {
    bisect.outcome = BisectOutcome::found;
  } else if (!next_midpoint(answers)) {
    bisect.outcome = BisectOutcome::range;
  }
}

void conclude_settings(Bisect& bisect) {
  const auto search = next_subset(bisect.differences.size(), answers_of_subsets(bisect));
  bisect.suspects.clear();
  for (const auto i : search.found) bisect.suspects.push_back(bisect.differences[i]);
  if (!search.ask) bisect.outcome = search.uncleared.empty() ? BisectOutcome::found : BisectOutcome::range;
}

std::string found_text(const Bisect& bisect) {
  const auto direction = to_string(bisect.direction.value_or(BisectDirection::worse));
  if (!bisect.over_commits)
    return fmt::format(
        "{} alone make{} it {}: {}", fmt::join(bisect.suspects, " and "), bisect.suspects.size() == 1 ? "s" : "",
        direction, change_of(bisect, [&] {
          for (auto step = bisect.steps.rbegin(); step != bisect.steps.rend(); ++step) {
            if (step->test.answer == BisectAnswer::different && step->subset.size() == bisect.suspects.size())
              return step->test;
          }
          return bisect.steps.front().test;
        }()));
  const auto range = commit_range(answers_of_commits(bisect));
  const auto step = std::find_if(bisect.steps.begin(), bisect.steps.end(),
                                 [&](const BisectStep& one) { return one.index == range.first_bad; });
  return fmt::format("the first commit that is {} is {}: {} against the good end; {}, before it, is the same",
                     direction, commit_text(bisect.commits[range.first_bad]), change_of(bisect, step->test),
                     commit_text(bisect.commits[range.last_good]));
}

std::string range_text(const Bisect& bisect) {
  const auto direction = to_string(bisect.direction.value_or(BisectDirection::worse));
  if (!bisect.over_commits)
    return fmt::format("{} together make it {}; whether all of them are needed could not be decided",
                       fmt::join(bisect.suspects, " and "), direction);
  const auto range = commit_range(answers_of_commits(bisect));
  return fmt::format(
      "it became {} after {} and at the latest with {}: {} commits, of which those between could not be "
      "measured or not be decided",
      direction, commit_text(bisect.commits[range.last_good]), commit_text(bisect.commits[range.first_bad]),
      bisect.suspects.size());
}

Json step_json(const Bisect& bisect, const BisectStep& step) {
  std::vector<std::string> settings;
  for (const auto i : step.subset) settings.push_back(bisect.differences[i]);
  const auto& test = step.test;
  return {{"subject", step.subject},
          {"title", step.title},
          {"index", step.index ? Json(*step.index) : Json(nullptr)},
          {"settings", settings},
          {"answer", to_string(test.answer)},
          {"reason", test.reason},
          {"pairs", test.pairs},
          {"change", json_of(test.change)},
          {"ci_lower", json_of(test.ci_lower)},
          {"ci_upper", json_of(test.ci_upper)},
          {"p", json_of(test.p)},
          {"bound", json_of(test.bound)},
          {"folder", step.folder}};
}

}  // namespace

std::string_view to_string(BisectOutcome outcome) {
  static constexpr std::string_view words[] = {"running",   "found",          "range",      "not_different",
                                               "undecided", "not_measurable", "interrupted"};
  return words[static_cast<std::size_t>(outcome)];
}

Scale Bisect::scale() const {
  const auto* info = find_metric(metric);
  return info == nullptr ? Scale::ratio : info->scale;
}

std::string Bisect::sentence() const {
  switch (outcome) {
    case BisectOutcome::found:
      return found_text(*this);
    case BisectOutcome::range:
      return range_text(*this);
    case BisectOutcome::not_different:
      return fmt::format(
          "good and bad do not differ in {} by the tolerance ({}, {} pairs): there is nothing to look for", metric,
          change_of(*this, steps.front().test), steps.front().test.pairs);
    case BisectOutcome::undecided:
      return fmt::format("whether good and bad differ in {} could not be decided: {}", metric,
                         steps.front().test.reason);
    case BisectOutcome::not_measurable:
      return problem;
    case BisectOutcome::interrupted:
      return "interrupted; go on with --resume";
    default:
      return "not ended yet";
  }
}

ExitCode Bisect::exit_code() const {
  switch (outcome) {
    case BisectOutcome::found:
      return ExitCode::nothing_worse;
    case BisectOutcome::range:
    case BisectOutcome::not_different:
    case BisectOutcome::undecided:
      return ExitCode::inconclusive;
    default:
      return ExitCode::measurement_failed;
  }
}

void conclude(Bisect& bisect) {
  if (bisect.steps.empty()) return;
  const auto& ends = bisect.steps.front().test;
  switch (ends.answer) {
    case BisectAnswer::same:
      bisect.outcome = BisectOutcome::not_different;
      return;
    case BisectAnswer::unknown:
      bisect.outcome = BisectOutcome::undecided;
      return;
    case BisectAnswer::skipped:
      bisect.outcome = BisectOutcome::not_measurable;
      bisect.problem = "the bad end cannot be measured against the good one: " + ends.reason;
      return;
    default:
      bisect.direction = ends.direction;
      bisect.over_commits ? conclude_commits(bisect) : conclude_settings(bisect);
  }
}

BisectQuestion next_question(const Bisect& bisect) {
  if (bisect.steps.empty() || bisect.steps.front().test.answer != BisectAnswer::different) return {};
  if (bisect.over_commits) return {next_midpoint(answers_of_commits(bisect)), std::nullopt};
  return {std::nullopt, next_subset(bisect.differences.size(), answers_of_subsets(bisect)).ask};
}

Json to_json(const Bisect& bisect) {
  Json steps = Json::array(), commits = Json::array();
  for (const auto& step : bisect.steps) steps.push_back(step_json(bisect, step));
  for (const auto& commit : bisect.commits) commits.push_back(commit.id);
  return {{"schema", "stepgauge.bisect"},
          {"version", bisect_version},
          {"suite", {{"name", bisect.suite}, {"path", bisect.suite_path}}},
          {"cell", bisect.cell},
          {"metric", bisect.metric},
          {"over", bisect.over_commits ? "commits" : "settings"},
          {"good", bisect.good},
          {"bad", bisect.bad},
          {"repository", bisect.repository},
          {"build", bisect.build},
          {"commits", std::move(commits)},
          {"differences", bisect.differences},
          {"seed", bisect.policy.seed},
          {"first_pairs", bisect.policy.first_pairs},
          {"most_pairs", bisect.policy.most_pairs},
          {"tolerance", json_of(bisect.policy.tolerance)},
          {"folder", bisect.folder},
          {"created_at", bisect.created_at},
          {"direction", bisect.direction ? Json(to_string(*bisect.direction)) : Json("unknown")},
          {"steps", std::move(steps)},
          {"outcome", to_string(bisect.outcome)},
          {"sentence", bisect.sentence()},
          {"suspects", bisect.suspects},
          {"exit_code", static_cast<int>(bisect.exit_code())}};
}

}  // namespace stepgauge::verdict
