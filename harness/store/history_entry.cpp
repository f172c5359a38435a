#include "store/history_entry.hpp"

#include <fmt/format.h>

#include <regex>

#include "store/detail/name.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::store {
namespace {

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json cell_json(const HistoryCell& cell) {
  Json metrics = Json::object();
  for (const auto& [name, metric] : cell.metrics) metrics[name] = {{"unit", metric.unit}, {"values", metric.values}};
  Json out{{"id", cell.id}, {"hash", cell.hash}, {"statuses", cell.statuses}, {"metrics", metrics}};
  for (const auto& [name, own] : cell.tolerance) {
    out["tolerance"][name] = {{"relative", number_json(own.relative)}, {"floor", number_json(own.floor)}};
  }
  return out;
}

Json run_json(const HistoryRun& run) {
  Json cells = Json::array();
  for (const auto& cell : run.cells) cells.push_back(cell_json(cell));
  return {{"run", run.run},
          {"created_at", run.created_at},
          {"commit", run.commit},
          {"source", run.source},
          {"cells", std::move(cells)}};
}

Json entry_json(const char* kind) {
  return {{"schema", "stepgauge.history"}, {"version", history_version}, {"kind", kind}};
}

Json json_of(const Night& night) {
  auto out = entry_json("night");
  out["suite"] = night.suite;
  out["added_at"] = night.added_at;
  out["fingerprint"] = night.fingerprint;
  out["tip"] = run_json(night.tip);
  if (night.reference) out["reference"] = run_json(*night.reference);
  return out;
}

Json json_of(const Acknowledgement& item) {
  auto out = entry_json("acknowledgement");
  out["series"] = item.series;
  out["night"] = item.night;
  out["reason"] = item.reason;
  out["by"] = item.by;
  out["at"] = item.at;
  return out;
}

Json json_of(const Pin& pin) {
  auto out = entry_json("pin");
  out["night"] = pin.night;
  out["name"] = pin.name;
  out["at"] = pin.at;
  return out;
}

Json json_of(const MeasuredNight& item) {
  return {{"night", item.night}, {"commit", item.commit}};
}

Json json_of(const Confirmation& item) {
  auto out = entry_json("confirmation");
  out["cell"] = item.cell;
  out["metric"] = item.metric;
  out["last_good"] = json_of(item.last_good);
  out["first_bad"] = json_of(item.first_bad);
  out["alarm_size"] = item.alarm_size;
  out["verdict"] = to_string(item.verdict);
  out["reason"] = item.reason;
  out["pairs"] = item.pairs;
  out["change"] = number_json(item.change);
  out["ci_lower"] = number_json(item.ci_lower);
  out["ci_upper"] = number_json(item.ci_upper);
  out["folder"] = item.folder;
  out["at"] = item.at;
  return out;
}

std::string require_text(const Json& value, const char* key, const std::string& where) {
  auto text = require<std::string>(value, key, where);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw ContractError(fmt::format("{}: \"{}\" is empty", where, key));
  }
  return text;
}

const Json& require_object(const Json& value, const char* key, const std::string& where) {
  const auto found = value.find(key);
  if (found == value.end() || !found->is_object()) {
    throw ContractError(fmt::format("{}: \"{}\" is missing or no object", where, key));
  }
  return *found;
}

std::string require_time(const Json& value, const char* key, const std::string& where) {
  static const std::regex iso("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z");
  auto text = require<std::string>(value, key, where);
  if (!std::regex_match(text, iso)) {
    throw ContractError(fmt::format("{}: \"{}\" is \"{}\", expected a time as 2026-11-30T02:00:00Z", where, key, text));
  }
  return text;
}

HistoryCell cell_of(const Json& value, const std::string& where) {
  HistoryCell cell;
  cell.id = require_text(value, "id", where);
  cell.hash = require<std::string>(value, "hash", where);
  cell.statuses = require<std::map<std::string, std::size_t>>(value, "statuses", where);
  for (const auto& [name, metric] : require_object(value, "metrics", where).items()) {
    auto& target = cell.metrics[name];
    target.unit = require<std::string>(metric, "unit", where);
    target.values = require<std::vector<double>>(metric, "values", where);
    if (target.values.empty()) throw ContractError(fmt::format("{}: {} of {} has no value", where, name, cell.id));
  }
  if (value.contains("tolerance")) {
    for (const auto& [name, own] : require_object(value, "tolerance", where).items()) {
      for (const auto& [key, target] :
           {std::pair{"relative", &CellTolerance::relative}, {"floor", &CellTolerance::floor}}) {
        if (own.contains(key) && !own.at(key).is_null())
          cell.tolerance[name].*target = require<double>(own, key, where);
      }
    }
  }
  return cell;
}

HistoryRun run_of(const Json& value, const std::string& where) {
  HistoryRun run;
  run.run = require_text(value, "run", where);
  run.created_at = require_time(value, "created_at", where);
  run.commit = require<std::string>(value, "commit", where);
  run.source = require<std::string>(value, "source", where);
  const auto cells = value.find("cells");
  if (cells == value.end() || !cells->is_array()) throw ContractError(where + ": \"cells\" is missing or no list");
  for (std::size_t i = 0; i < cells->size(); ++i) run.cells.push_back(cell_of((*cells)[i], where));
  return run;
}

Night night_of(const Json& value, const std::string& where) {
  Night night;
  night.suite = require_text(value, "suite", where);
  night.added_at = require<std::string>(value, "added_at", where);
  night.fingerprint = read_fingerprint(value, where);
  night.tip = run_of(require_object(value, "tip", where), where);
  if (value.contains("reference")) night.reference = run_of(require_object(value, "reference", where), where);
  return night;
}

MeasuredNight measured_night_of(const Json& value, const char* key, const std::string& where) {
  const auto& night = require_object(value, key, where);
  return {require_text(night, "night", where), require_text(night, "commit", where)};
}

std::optional<double> number_of(const Json& value, const char* key, const std::string& where) {
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? std::nullopt : std::optional(require<double>(value, key, where));
}

Confirmation confirmation_of(const Json& value, const std::string& where) {
  Confirmation out;
  out.cell = require_text(value, "cell", where);
  out.metric = require_text(value, "metric", where);
  out.last_good = measured_night_of(value, "last_good", where);
  out.first_bad = measured_night_of(value, "first_bad", where);
  out.alarm_size = require<double>(value, "alarm_size", where);
  const auto text = require<std::string>(value, "verdict", where);
  const auto verdict = confirmation_verdict_from_string(text);
  if (!verdict)
    throw ContractError(fmt::format(
        "{}: verdict \"{}\", expected \"{}\", \"{}\" or \"{}\"", where, text, to_string(ConfirmationVerdict::confirmed),
        to_string(ConfirmationVerdict::not_confirmed), to_string(ConfirmationVerdict::unknown)));
  out.verdict = *verdict;
  out.reason = require<std::string>(value, "reason", where);
  out.pairs = require<std::size_t>(value, "pairs", where);
  out.change = number_of(value, "change", where);
  out.ci_lower = number_of(value, "ci_lower", where);
  out.ci_upper = number_of(value, "ci_upper", where);
  out.folder = require<std::string>(value, "folder", where);
  out.at = require_time(value, "at", where);
  return out;
}

}  // namespace

Json to_json(const HistoryEntry& entry) {
  return std::visit([](const auto& item) { return json_of(item); }, entry);
}

HistoryEntry history_entry_from_json(const Json& value, const std::string& where) {
  if (require<std::string>(value, "schema", where) != "stepgauge.history") {
    throw ContractError(where + ": not a line of a history");
  }
  if (const auto version = require<int>(value, "version", where); version > history_version) {
    throw ContractError(
        fmt::format("{}: history version {}, this program reads up to {}: a newer stepgauge wrote it, "
                    "read it with that one",
                    where, version, history_version));
  }
  const auto kind = require<std::string>(value, "kind", where);
  if (kind == "night") return night_of(value, where);
  if (kind == "acknowledgement") {
    return Acknowledgement{require_text(value, "series", where), require_text(value, "night", where),
                           require_text(value, "reason", where), require_text(value, "by", where),
                           require<std::string>(value, "at", where)};
  }
  if (kind == "pin") {
    return Pin{require_text(value, "night", where), require_text(value, "name", where),
               require<std::string>(value, "at", where)};
  }
  if (kind == "confirmation") return confirmation_of(value, where);
  throw ContractError(fmt::format(
      "{}: kind \"{}\", expected \"night\", \"acknowledgement\", \"pin\" or \"confirmation\"", where, kind));
}

std::string run_id(const RunInfo& info) {
  std::string time;
  for (const char c : info.created_at.substr(0, info.created_at.find('.'))) {
    if (c != '-' && c != ':') time += c;
  }
  if (time.empty()) throw std::invalid_argument("the run does not say when it was made (created_at)");
  if (time.back() != 'Z') time += 'Z';
  return fmt::format("{}-{}", time, detail::short_hash(dump_line(to_json(info))));
}

HistoryRun history_run(const RunFolder& run, std::string commit) {
  HistoryRun out;
  out.run = run_id(run.info());
  out.created_at = run.info().created_at;
  out.commit = std::move(commit);
  out.source = run.path().string();
  for (const auto& results : run.results().cells) {
    auto& cell = out.cells.emplace_back();
    cell.id = results.cell.id;
    cell.hash = results.cell.hash;
    cell.tolerance = results.cell.tolerance;
    for (const auto& launch : results.launches) {
      ++cell.statuses[std::string(to_string(launch.status))];
      if (launch.status != Status::ok) continue;
      for (const auto& [name, metric] : launch.metrics) {
        if (!metric.value) continue;
        auto& target = cell.metrics[name];
        target.unit = metric.unit;
        target.values.push_back(*metric.value);
      }
    }
  }
  return out;
}

}  // namespace stepgauge::store
