#include "contract/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "contract/optional_json.hpp"

namespace stepgauge {
namespace {

void require_header(const Json& value, const std::string& where, const char* scope) {
  if (require<std::string>(value, "schema", where) != "stepgauge.record") throw ContractError(where + ": not a record");
  if (const auto version = require<int>(value, "version", where); version > record_version) {
    throw ContractError(
        fmt::format("{}: record version {}, this program reads up to {}", where, version, record_version));
  }
  if (const auto found = require<std::string>(value, "scope", where); found != scope) {
    throw ContractError(fmt::format("{}: expected scope \"{}\", found \"{}\"", where, scope, found));
  }
}

Status require_status(const Json& value, const std::string& where) {
  const auto text = require<std::string>(value, "status", where);
  const auto status = status_from_string(text);
  if (!status) throw ContractError(fmt::format("{}: unknown status \"{}\"", where, text));
  return *status;
}

double require_time(double value, const std::string& where, std::string_view what) {
  if (!std::isfinite(value) || value < 0)
    throw ContractError(fmt::format("{}: {} is {}, expected >= 0", where, what, value));
  return value;
}

std::optional<double> optional_number(const Json& value, const char* key, const std::string& where) {
  if (!value.is_object() || !value.contains(key) || value.at(key).is_null()) return std::nullopt;
  return require<double>(value, key, where);
}

Json memory_json(const MemoryPeaks& peaks) {
  return {{"allocated_mib", json_of(peaks.allocated_mib)},
          {"active_mib", json_of(peaks.active_mib)},
          {"reserved_mib", json_of(peaks.reserved_mib)}};
}

MemoryPeaks memory_from_json(const Json& value, const std::string& where) {
  return {optional_number(value, "allocated_mib", where), optional_number(value, "active_mib", where),
          optional_number(value, "reserved_mib", where)};
}

void keep_detail(Json& detail, const Json& value, const std::set<std::string>& known) {
  for (const auto& [key, item] : value.items()) {
    if (known.count(key) == 0) detail[key] = item;
  }
}

const std::set<std::string>& rank_fields() {
  static const std::set<std::string> fields{
      "schema",    "version",        "scope",         "cell",        "launch",        "rank",         "world_size",
      "status",    "reason",         "phases_s",      "step_ms",     "measured_from", "first_step_s", "work_per_step",
      "work_unit", "flops_per_step", "flops_formula", "peak_tflops", "peak_source",   "memory"};
  return fields;
}

const std::set<std::string>& launch_fields() {
  static const std::set<std::string> fields{"schema",    "version", "scope",   "cell",       "suite",
                                            "launch",    "attempt", "status",  "started_at", "duration_s",
                                            "perturbed", "warm_up", "metrics", "reason"};
  return fields;
}

/// What records of ranks and of launches have in common.
template <typename Record>
Record begin_record(const Json& value, const std::string& where, const char* scope) {
  require_header(value, where, scope);
  Record record;
  const auto cell = require<Json>(value, "cell", where);
  record.cell_id = require<std::string>(cell, "id", where + ".cell");
  record.cell_hash = require<std::string>(cell, "hash", where + ".cell");
  record.launch = require<int>(value, "launch", where);
  record.status = require_status(value, where);
  record.reason = optional<std::string>(value, "reason", "", where);
  return record;
}

template <typename Record>
Json begin_json(const Record& record, const char* scope) {
  Json out = record.detail;
  out["schema"] = "stepgauge.record";
  out["version"] = record_version;
  out["scope"] = scope;
  out["cell"] = {{"id", record.cell_id}, {"hash", record.cell_hash}};
  out["launch"] = record.launch;
  out["status"] = to_string(record.status);
  out["reason"] = record.reason;
  return out;
}

}  // namespace

RankRecord rank_record_from_json(const Json& value, std::string_view origin) {
  const std::string where(origin);
  auto record = begin_record<RankRecord>(value, where, "rank");
  record.rank = require<int>(value, "rank", where);
  record.world_size = require<int>(value, "world_size", where);
  record.phases_s = optional<std::map<std::string, double>>(value, "phases_s", {}, where);
  for (const auto& [phase, seconds] : record.phases_s) require_time(seconds, where, "phase " + phase);
  record.step_ms = optional<std::vector<double>>(value, "step_ms", {}, where);
  for (const auto ms : record.step_ms) require_time(ms, where, "a step time");
  record.measured_from = optional<std::size_t>(value, "measured_from", record.step_ms.size(), where);
  if (record.measured_from > record.step_ms.size()) {
    throw ContractError(
        fmt::format("{}: measured_from is {}, there are {} steps", where, record.measured_from, record.step_ms.size()));
  }
  record.first_step_s = optional_number(value, "first_step_s", where);
  if (record.first_step_s) require_time(*record.first_step_s, where, "first_step_s");
  record.work_per_step = optional(value, "work_per_step", 0.0, where);
  require_time(record.work_per_step, where, "work_per_step");
  record.work_unit = optional<std::string>(value, "work_unit", "samples", where);
  record.flops_per_step = optional_number(value, "flops_per_step", where);
  record.flops_formula = optional<std::string>(value, "flops_formula", "", where);
  record.peak_tflops = optional_number(value, "peak_tflops", where);
  record.peak_source = optional<std::string>(value, "peak_source", "", where);
  const auto memory = optional<Json>(value, "memory", Json::object(), where);
  record.memory_first_step =
      memory_from_json(optional<Json>(memory, "first_step", Json::object(), where), where + ".memory");
  record.memory_steady = memory_from_json(optional<Json>(memory, "steady", Json::object(), where), where + ".memory");
  record.outside_mib = optional_number(memory, "outside_mib", where + ".memory");
  record.memory_method = optional<std::string>(memory, "method", "", where + ".memory");
  keep_detail(record.detail, value, rank_fields());
  dump_line(record.detail);  // finite throughout, or a ContractError that names the field
  return record;
}

Json to_json(const RankRecord& record) {
  auto out = begin_json(record, "rank");
  out["rank"] = record.rank;
  out["world_size"] = record.world_size;
  out["phases_s"] = record.phases_s;
  out["step_ms"] = record.step_ms;
  out["measured_from"] = record.measured_from;
  out["first_step_s"] = json_of(record.first_step_s);
  out["work_per_step"] = record.work_per_step;
  out["work_unit"] = record.work_unit;
  out["flops_per_step"] = json_of(record.flops_per_step);
  out["flops_formula"] = record.flops_formula;
  out["peak_tflops"] = json_of(record.peak_tflops);
  out["peak_source"] = record.peak_source;
  out["memory"] = {{"first_step", memory_json(record.memory_first_step)},
                   {"steady", memory_json(record.memory_steady)},
                   {"outside_mib", json_of(record.outside_mib)},
                   {"method", record.memory_method}};
  return out;
}

LaunchRecord launch_record_from_json(const Json& value, std::string_view origin) {
  const std::string where(origin);
  auto record = begin_record<LaunchRecord>(value, where, "launch");
  record.suite = optional<std::string>(value, "suite", "", where);
  record.attempt = optional(value, "attempt", 1, where);
  record.started_at = optional<std::string>(value, "started_at", "", where);
  record.duration_s = optional(value, "duration_s", 0.0, where);
  record.perturbed = optional(value, "perturbed", false, where);
  record.warm_up = optional(value, "warm_up", false, where);
  const auto metrics = optional<Json>(value, "metrics", Json::object(), where);
  for (const auto& [name, item] : metrics.items()) {
    auto& metric = record.metrics[name];
    metric.value = optional_number(item, "value", where + ".metrics." + name);
    metric.unit = optional<std::string>(item, "unit", "", where + ".metrics." + name);
    metric.absent = optional<std::string>(item, "absent", "", where + ".metrics." + name);
  }
  keep_detail(record.detail, value, launch_fields());
  return record;
}

Json to_json(const LaunchRecord& record) {
  auto out = begin_json(record, "launch");
  out["suite"] = record.suite;
  out["attempt"] = record.attempt;
  out["started_at"] = record.started_at;
  out["duration_s"] = record.duration_s;
  out["perturbed"] = record.perturbed;
  if (record.warm_up) out["warm_up"] = true;
  out["metrics"] = Json::object();
  for (const auto& [name, metric] : record.metrics) {
    auto& item = out["metrics"][name];
    if (metric.value) {
      item = {{"value", *metric.value}, {"unit", metric.unit}};
    } else {
      item = {{"absent", metric.absent}};
    }
  }
  return out;
}

}  // namespace stepgauge
