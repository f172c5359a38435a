#include "contract/optional_json.hpp"
#include "verdict/trend.hpp"

namespace stepgauge::verdict {
namespace {

Json night_json(const TrendNight& night) {
  Json out{{"run", night.run}, {"created_at", night.created_at}, {"commit", night.commit}};
  out["reference_commit"] = json_of(night.reference_commit);
  return out;
}

Json confirmation_json(const std::optional<TrendConfirmation>& item, const std::vector<TrendNight>& nights) {
  if (!item) return nullptr;
  return {{"verdict", to_string(item->verdict)},
          {"reason", item->reason},
          {"last_good", night_json(nights[item->last_good])},
          {"first_bad", night_json(nights[item->first_bad])},
          {"pairs", item->pairs},
          {"change", json_of(item->change)},
          {"ci_lower", json_of(item->ci_lower)},
          {"ci_upper", json_of(item->ci_upper)},
          {"at", item->at},
          {"attempts", item->attempts}};
}

Json alarm_json(const TrendAlarm& alarm, const std::vector<TrendNight>& nights) {
  return {{"kind", to_string(alarm.kind)},
          {"direction", alarm.worse ? "worse" : "better"},
          {"night", nights[alarm.night].run},
          {"change_night", nights[alarm.change].run},
          {"last_good", night_json(nights[alarm.last_good])},
          {"first_bad", night_json(nights[alarm.first_bad])},
          {"localised", alarm.localised},
          {"size", alarm.size},
          {"ci_lower", json_of(alarm.ci_lower)},
          {"ci_upper", json_of(alarm.ci_upper)},
          {"small", alarm.small},
          {"single", alarm.single},
          {"over", alarm.over},
          {"machine", alarm.machine},
          {"confirmation", confirmation_json(alarm.confirmation, nights)},
          {"blocks", alarm.blocks}};
}

Json change_json(const SeriesChange& item, const std::vector<TrendNight>& nights) {
  const auto& change = item.change;
  const auto commit_night = [&](std::size_t night) { return change.localised ? night_json(nights[night]) : Json(); };
  return {{"cell", item.cell},
          {"metric", item.metric},
          {"unit", item.unit},
          {"direction", change.worse ? "worse" : "better"},
          {"night", nights[change.night].run},
          {"last_good", commit_night(change.last_good)},
          {"first_bad", commit_night(change.night)},
          {"before", change.before},
          {"after", change.after},
          {"size", change.size},
          {"ci_lower", json_of(change.ci_lower)},
          {"ci_upper", json_of(change.ci_upper)}};
}

Json changes_json(const Trend& trend) {
  if (!trend.changes) return nullptr;
  Json out = Json::array();
  for (const auto& item : *trend.changes) out.push_back(change_json(item, trend.nights));
  return out;
}

Json row_json(const TrendRow& row, const std::vector<TrendNight>& nights) {
  Json alarms = Json::array();
  for (const auto& alarm : row.alarms) alarms.push_back(alarm_json(alarm, nights));
  Json known = nullptr;
  if (row.known) {
    known = {{"night", nights[row.known->night].run}, {"reason", row.known->reason}, {"by", row.known->by}};
  }
  return {{"cell", row.cell},
          {"metric", row.metric},
          {"unit", row.unit},
          {"better", row.better == Better::higher ? "higher" : "lower"},
          {"scale", row.scale == Scale::ratio ? "ratio" : "points"},
          {"blocking", row.blocking},
          {"threshold", json_of(row.threshold)},
          {"nights", row.nights},
          {"gap", row.gap},
          {"last_night", nights[row.last_night].run},
          {"last", json_of(row.last)},
          {"centre", json_of(row.centre)},
          {"change", json_of(row.change)},
          {"noise", json_of(row.noise)},
          {"against_reference", row.against_reference},
          {"creep", json_of(row.creep)},
          {"crept", row.crept},
          {"acknowledged", known},
          {"alarms", alarms},
          {"state", to_string(row.state)},
          {"reason", row.reason}};
}

Json counts_json(const TrendCounts& counts) {
  return {{"series", counts.series}, {"alarm", counts.alarm}, {"quiet", counts.quiet},
          {"shown", counts.shown},   {"fresh", counts.fresh}, {"vanished", counts.vanished}};
}

}  // namespace

std::string_view to_string(TrendState state) {
  switch (state) {
    case TrendState::alarm:
      return "alarm";
    case TrendState::quiet:
      return "quiet";
    case TrendState::shown:
      return "shown";
    case TrendState::fresh:
      return "new";
    default:
      return "vanished";
  }
}

std::string_view to_string(AlarmKind kind) {
  return kind == AlarmKind::sustained ? "sustained" : "jump";
}

Json to_json(const Trend& trend) {
  Json nights = Json::array(), rows = Json::array(), machine = Json::array();
  for (const auto& night : trend.nights) nights.push_back(night_json(night));
  for (const auto& row : trend.rows) rows.push_back(row_json(row, trend.nights));
  for (const auto& item : trend.machine_alarms) {
    machine.push_back({{"cell", item.cell},
                       {"metric", item.metric},
                       {"unit", item.unit},
                       {"alarm", alarm_json(item.alarm, trend.nights)}});
  }
  Json pin = nullptr;
  if (trend.pin) pin = {{"night", trend.nights[trend.pin->night].run}, {"name", trend.pin->name}};
  return {{"schema", "stepgauge.trend"},
          {"version", trend_version},
          {"suite", trend.suite},
          {"machine", trend.machine},
          {"nights", nights},
          {"pin", pin},
          {"counts", counts_json(trend.counts)},
          {"rows", rows},
          {"machine_alarms", machine},
          {"changes", changes_json(trend)},
          {"notes", trend.notes},
          {"exit_code", static_cast<int>(trend.exit_code)}};
}

}  // namespace stepgauge::verdict
