#include "store/run_info.hpp"
#include "store/fingerprint.hpp"

#include <fmt/format.h>

#include <set>
#include <unordered_map>

namespace stepgauge::store {

Json cells_json(const std::vector<Cell>& cells) {
  Json out = Json::array();
  for (const auto& cell : cells) out.push_back(to_json(cell));
  return out;
}

std::vector<Cell> cells_from_json(const Json& value, const std::string& where) {
  if (!value.is_array()) throw ContractError(where + ": \"cells\" is no list");
  std::vector<Cell> cells;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < value.size(); ++i) {
    cells.push_back(cell_from_json(value[i], fmt::format("{}: cells[{}]", where, i)));
    if (!ids.insert(cells.back().id).second) {
      throw ContractError(fmt::format("{}: cell \"{}\" stands twice", where, cells.back().id));
    }
  }
  return cells;
}

Json skipped_json(const std::vector<SkippedCell>& skipped) {
  Json out = Json::array();
  for (const auto& cell : skipped) {
    out.push_back({{"id", cell.id}, {"hash", cell.hash}, {"status", to_string(cell.status)}, {"reason", cell.reason}});
  }
  return out;
}

std::vector<SkippedCell> skipped_from_json(const Json& value, const std::string& where) {
  if (!value.is_array()) throw ContractError(where + ": \"skipped\" is no list");
  std::vector<SkippedCell> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto at = fmt::format("{}: skipped[{}]", where, i);
    const auto text = require<std::string>(value[i], "status", at);
    const auto status = status_from_string(text);
    if (status != Status::skipped && status != Status::unsupported) {
      throw ContractError(fmt::format("{}: status \"{}\", expected \"skipped\" or \"unsupported\"", at, text));
    }
    out.push_back({require<std::string>(value[i], "id", at), require<std::string>(value[i], "hash", at), *status,
                   optional<std::string>(value[i], "reason", "", at)});
  }
  return out;
}

Json to_json(const RunInfo& info) {
  Json out{{"schema", "stepgauge.run"},
           {"version", run_version},
           {"suite", {{"name", info.suite}, {"path", info.suite_path}, {"hash", info.suite_hash}}},
           {"command", info.command},
           {"created_at", info.created_at},
           {"environment", info.environment},
           {"fingerprint", info.fingerprint},
           {"cells", cells_json(info.cells)},
           {"skipped", skipped_json(info.skipped)},
           {"workers", info.workers}};
  if (!info.launcher.is_null()) out["launcher"] = info.launcher;
  if (!info.shard.is_null()) out["shard"] = info.shard;
  if (!info.gate.is_null()) out["gate"] = info.gate;
  if (!info.merged.empty()) out["merged"] = info.merged;
  return out;
}

RunInfo run_info_from_json(const Json& value, std::string_view origin) {
  const std::string where(origin);
  if (require<std::string>(value, "schema", where) != "stepgauge.run") {
    throw ContractError(where + ": not the description of a run");
  }
  if (const auto version = require<int>(value, "version", where); version > run_version) {
    throw ContractError(fmt::format("{}: run version {}, this program reads up to {}", where, version, run_version));
  }
  RunInfo info;
  const auto suite = require<Json>(value, "suite", where);
  info.suite = require<std::string>(suite, "name", where + ": suite");
  info.suite_path = optional<std::string>(suite, "path", "", where + ": suite");
  info.suite_hash = optional<std::string>(suite, "hash", "", where + ": suite");
  info.command = require<std::vector<std::string>>(value, "command", where);
  info.created_at = require<std::string>(value, "created_at", where);
  info.environment = require<Json>(value, "environment", where);
  info.fingerprint = read_fingerprint(value, where);
  info.cells = cells_from_json(require<Json>(value, "cells", where), where);
  info.skipped = skipped_from_json(optional<Json>(value, "skipped", Json::array(), where), where);
  info.workers = optional<std::map<std::string, std::vector<std::string>>>(value, "workers", {}, where);
  info.launcher = optional<Json>(value, "launcher", nullptr, where);
  if (!info.launcher.is_null()) require<std::string>(info.launcher, "name", where + ": launcher");
  info.shard = optional<Json>(value, "shard", nullptr, where);
  info.gate = optional<Json>(value, "gate", nullptr, where);
  info.merged = optional<std::vector<std::string>>(value, "merged", {}, where);
  return info;
}

std::vector<CellResults> join(const std::vector<Cell>& cells, const std::vector<LaunchRecord>& records,
                              const std::string& where) {
  std::unordered_map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < cells.size(); ++i) place.emplace(cells[i].id, i);
  std::vector<std::map<int, const LaunchRecord*>> last(cells.size());
  for (const auto& record : records) {
    const auto found = place.find(record.cell_id);
    if (found == place.end() || cells[found->second].hash != record.cell_hash) {
      throw ContractError(fmt::format("{}: launch {} is of cell \"{}\" ({}), which is not one of its {} cells", where,
                                      record.launch, record.cell_id, record.cell_hash, cells.size()));
    }
    if (record.warm_up) continue;
    auto& kept = last[found->second][record.launch];
    if (kept == nullptr || record.attempt >= kept->attempt) kept = &record;
  }
  std::vector<CellResults> out;
  out.reserve(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out.push_back({cells[i], {}});
    for (const auto& [launch, record] : last[i]) out.back().launches.push_back(*record);
  }
  return out;
}

}  // namespace stepgauge::store
