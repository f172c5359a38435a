#include "cli/confirm_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/arm_pairs.hpp"
#include "cli/utc.hpp"
#include "config/config_error.hpp"
#include "contract/short_commit.hpp"
#include "report/text.hpp"

namespace stepgauge::cli {
namespace {

using verdict::MeasuredAlarm;

std::set<std::string> cells_of(const std::string& suite_path) {
  std::set<std::string> out;
  for (const auto& cell : config::load_suite(suite_path).cells) out.insert(cell.id);
  return out;
}

const verdict::GateCell* find_cell(const std::vector<verdict::GateCell>& cells, const std::string& id) {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const verdict::GateCell& cell) {
    return cell.head.id == id || cell.base.id == id;
  });
  return found == cells.end() ? nullptr : &*found;
}

}  // namespace

ConfirmSession::ConfirmSession(ConfirmOptions options, const store::History& history, const Program& program)
    : options_(std::move(options)),
      history_(history),
      program_(program),
      builds_(options_.repository, options_.folder, options_.build) {}

ConfirmResult ConfirmSession::run(const std::vector<verdict::AlarmToConfirm>& alarms) {
  for (const auto& alarm : alarms) result_.alarms.push_back({alarm, "", "", std::nullopt, ""});
  for (const auto& range : ranges_of(result_.alarms)) {
    measure(range);
    if (result_.interrupted) break;
  }
  for (auto& item : result_.alarms) {
    if (!item.test && item.alarm.problem.empty()) item.alarm.problem = "interrupted";
  }
  return std::move(result_);
}

std::optional<verdict::BisectCommit> ConfirmSession::commit_of(std::size_t night, MeasuredAlarm& item) const {
  const auto& run = history_.nights[night].tip;
  auto out = find_commit(options_.repository, run.commit);
  if (!out)
    item.alarm.problem =
        fmt::format("{} has no commit {}, which night {} measured", options_.repository, run.commit, run.run);
  return out;
}

std::vector<ConfirmSession::Range> ConfirmSession::ranges_of(std::vector<MeasuredAlarm>& alarms) {
  const auto known = cells_of(options_.suite.suite_path);
  std::vector<Range> out;
  for (std::size_t i = 0; i < alarms.size(); ++i) {
    auto& item = alarms[i];
    if (known.count(item.alarm.cell) == 0)
      item.alarm.problem = "the cell is not in " + options_.suite.suite_path + " any more";
    if (!item.alarm.problem.empty()) continue;
    const auto good = commit_of(item.alarm.last_good, item), bad = commit_of(item.alarm.first_bad, item);
    if (!good || !bad) continue;
    item.good = good->id;
    item.bad = bad->id;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Range& range) {
      return range.good.id == good->id && range.bad.id == bad->id;
    });
    if (same != out.end()) {
      same->alarms.push_back(i);
    } else {
      out.push_back({*good, *bad, {i}});
    }
  }
  return out;
}

void ConfirmSession::measure(const Range& range) {
  tell(fmt::format("commits after {} up to {} ({}): {} series in alarm", short_commit(range.good.id),
                   short_commit(range.bad.id), range.bad.title, range.alarms.size()));
  if (range.good.id == range.bad.id) return keep_same_commit(range);
  const auto good = builds_.build(range.good);
  if (!good.problem.empty()) return give_up(range, short_commit(range.good.id) + " " + good.problem);
  const auto bad = builds_.build(range.bad);
  if (!bad.problem.empty()) return give_up(range, short_commit(range.bad.id) + " " + bad.problem);
  auto suite = options_.suite;
  for (const auto i : range.alarms) suite.selection.only.push_back(result_.alarms[i].alarm.cell);
  ArmPairs arms(suite, options_.quiet, program_, "the confirmation");
  const auto folder = options_.folder / "pairs" / (short_commit(range.good.id) + "-" + short_commit(range.bad.id));
  const auto policy = gate_policy(verdict::confirmation_policy({}, options_.seed));
  std::string problem;
  const auto pairs = arms.open({parse_arm("good", {good.path}), parse_arm("bad", {bad.path}), folder, policy}, problem);
  if (!pairs) return give_up(range, problem);
  const auto done = arms.measure(*pairs, verdict::confirmation_pairs);
  result_.interrupted = done.interrupted;
  if (done.interrupted) return;
  for (const auto i : range.alarms) judge(result_.alarms[i], done.cells, pairs->folder());
}

void ConfirmSession::judge(MeasuredAlarm& item, const std::vector<verdict::GateCell>& cells, const GateFolder& pairs) {
  const auto* cell = find_cell(cells, item.alarm.cell);
  if (cell == nullptr)
    throw config::ConfigError(
        "", 0, 0,
        fmt::format("{}: the confirmation began without {}; start a new one", pairs.path().string(), item.alarm.cell));
  if (!cell->unmatched.empty()) {
    item.alarm.problem = cell->unmatched;
    return;
  }
  item.test = verdict::bisect_test(*cell, item.alarm.metric, verdict::BisectDirection::worse,
                                   verdict::confirmation_policy(item.alarm, pairs.setup().policy.seed));
  item.folder = pairs.path().string();
  keep(item);
}

void ConfirmSession::keep_same_commit(const Range& range) {
  for (const auto i : range.alarms) {
    auto& item = result_.alarms[i];
    item.test.emplace().reason = "both nights ran this commit: the change is not one of the repository";
    keep(item);
  }
}

void ConfirmSession::give_up(const Range& range, const std::string& problem) {
  for (const auto i : range.alarms) result_.alarms[i].alarm.problem = problem;
  tell("  " + problem);
}

void ConfirmSession::keep(const MeasuredAlarm& item) const {
  const auto night = [&](std::size_t index, const std::string& commit) {
    return store::MeasuredNight{history_.nights[index].tip.run, commit};
  };
  const auto& test = *item.test;
  store::Confirmation line;
  line.cell = item.alarm.cell;
  line.metric = item.alarm.metric;
  line.last_good = night(item.alarm.last_good, item.good);
  line.first_bad = night(item.alarm.first_bad, item.bad);
  line.alarm_size = item.alarm.alarm_size;
  line.verdict = verdict::confirmation_verdict(test);
  line.reason = test.reason;
  line.pairs = test.pairs;
  line.change = test.change;
  line.ci_lower = test.ci_lower;
  line.ci_upper = test.ci_upper;
  line.folder = item.folder;
  line.at = utc_now();
  store::append_history(history_.path, line);
  tell(fmt::format("  {} in {}: {}{}{}", line.metric, line.cell, to_string(line.verdict),
                   line.reason.empty() ? "" : ": ", line.reason));
}

void ConfirmSession::tell(const std::string& line) const {
  if (!options_.quiet) fmt::print(stderr, "stepgauge: {}\n", report::printable(line));
}

}  // namespace stepgauge::cli
