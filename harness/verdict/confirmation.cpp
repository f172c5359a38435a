#include "verdict/confirmation.hpp"

#include <string_view>

namespace stepgauge::verdict {
namespace {

constexpr std::string_view changed = "+changes";  ///< of a work tree that was not its commit

bool names_code(const TrendNight& night) {
  return !night.commit.empty() && !night.commit.ends_with(changed);
}

/// The levels on either side of an alarm: its own nights, and those before it.
struct Levels {
  std::size_t begin = 0;  ///< first night of the level before
  std::size_t end = 0;    ///< behind the last night of the new one
};

Levels levels_about(const TrendRow& row, std::size_t place, std::size_t nights) {
  Levels out{row.known ? row.known->night : 0, nights};
  if (place > 0) out.begin = row.alarms[place - 1].change;
  if (place + 1 < row.alarms.size()) out.end = row.alarms[place + 1].change;
  return out;
}

void choose_nights(const TrendAlarm& alarm, const Levels& levels, const std::vector<TrendNight>& nights,
                   AlarmToConfirm& out) {
  out.last_good = alarm.last_good;
  out.first_bad = alarm.first_bad;
  while (out.last_good > levels.begin && !names_code(nights[out.last_good])) --out.last_good;
  while (out.first_bad + 1 < levels.end && !names_code(nights[out.first_bad])) ++out.first_bad;
  for (const auto& [night, level] : {std::pair{out.last_good, "before the alarm"}, {out.first_bad, "of the alarm"}}) {
    if (!names_code(nights[night]))
      out.problem = std::string("no night ") + level + " names a commit that could be built";
  }
}

}  // namespace

std::vector<AlarmToConfirm> alarms_to_confirm(const Trend& trend, bool again) {
  std::vector<AlarmToConfirm> out;
  for (const auto& row : trend.rows) {
    for (std::size_t place = 0; place < row.alarms.size(); ++place) {
      const auto& alarm = row.alarms[place];
      if (!alarm.blocks) continue;
      const bool undecided = alarm.confirmation && alarm.confirmation->verdict == ConfirmationVerdict::unknown;
      if (alarm.confirmation && !(undecided && again)) continue;
      auto& item = out.emplace_back();
      item.cell = row.cell;
      item.metric = row.metric;
      item.alarm_size = alarm.size;
      item.threshold = row.threshold;
      choose_nights(alarm, levels_about(row, place, trend.nights.size()), trend.nights, item);
    }
  }
  return out;
}

BisectPolicy confirmation_policy(const AlarmToConfirm& alarm, std::uint64_t seed) {
  BisectPolicy out;
  out.first_pairs = out.most_pairs = confirmation_pairs;
  if (alarm.threshold) out.tolerance = *alarm.threshold / 2;
  out.seed = seed;
  return out;
}

ConfirmationVerdict confirmation_verdict(const BisectTest& test) {
  if (test.answer == BisectAnswer::different) return ConfirmationVerdict::confirmed;
  return test.answer == BisectAnswer::same ? ConfirmationVerdict::not_confirmed : ConfirmationVerdict::unknown;
}

ExitCode confirmation_exit_code(const Trend& left, bool unmeasured) {
  if (left.exit_code == ExitCode::not_comparable) return left.exit_code;
  bool blocks = false, confirmed = false;
  for (const auto& row : left.rows) {
    for (const auto& alarm : row.alarms) {
      blocks = blocks || alarm.blocks;
      confirmed = confirmed ||
                  (alarm.blocks && alarm.confirmation && alarm.confirmation->verdict == ConfirmationVerdict::confirmed);
    }
  }
  if (confirmed) return ExitCode::regression;
  if (unmeasured) return ExitCode::measurement_failed;
  return blocks ? ExitCode::inconclusive : ExitCode::nothing_worse;
}

}  // namespace stepgauge::verdict
