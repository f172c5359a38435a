#include "cli/gate_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/new_run_info.hpp"
#include "cli/run_session.hpp"
#include "contract/digest.hpp"
#include "store/output_folder.hpp"
#include "store/run_info.hpp"
#include "summary/clock_change.hpp"
#include "verdict/gate_schedule.hpp"

namespace stepgauge::cli {
namespace {

Json to_json(const GateSetup& setup, const char* arm) {
  auto cells = Json::array();
  for (const auto& match : setup.cells)
    cells.push_back({{"base", match.base}, {"head", match.head}, {"unmatched", match.unmatched}});
  return {{"arm", arm},
          {"base", setup.base},
          {"head", setup.head},
          {"seed", setup.policy.seed},
          {"screen_pairs", setup.policy.screen_pairs},
          {"confirm_pairs", setup.policy.confirm_pairs},
          {"design", verdict::design_name(setup.policy)},
          {"cells_digest", setup.cells_digest},
          {"cells", std::move(cells)}};
}

/// Gates that were begun before there was a choice are of the fixed design.
verdict::GatePolicy policy_from_json(const Json& value, const std::string& where) {
  const auto design = optional<std::string>(value, "design", verdict::design_name({}), where);
  verdict::GatePolicy out;
  if (design == verdict::design_name(verdict::sequential_policy())) {
    out = verdict::sequential_policy();
  } else if (design != verdict::design_name(out)) {
    throw ContractError(fmt::format(
        "{}: a gate of the design \"{}\", which this version does not know; start a new gate", where, design));
  }
  const auto confirm_pairs = require<std::size_t>(value, "confirm_pairs", where);
  if (!out.looks.empty() && confirm_pairs != out.confirm_pairs)
    throw ContractError(
        fmt::format("{}: the gate began with looks at up to {} new pairs, this version takes {}; start a "
                    "new gate",
                    where, confirm_pairs, out.confirm_pairs));
  out.screen_pairs = require<std::size_t>(value, "screen_pairs", where);
  out.confirm_pairs = confirm_pairs;
  out.seed = require<std::uint64_t>(value, "seed", where);
  return out;
}

GateSetup setup_from_json(const Json& value, const std::string& where) {
  if (!value.is_object()) throw ContractError(where + ": the run is no arm of a gate");
  GateSetup out;
  out.base = require<std::vector<std::string>>(value, "base", where);
  out.head = require<std::vector<std::string>>(value, "head", where);
  out.policy = policy_from_json(value, where);
  out.cells_digest = require<std::string>(value, "cells_digest", where);
  for (const auto& match : require<Json>(value, "cells", where)) {
    out.cells.push_back({require<std::string>(match, "base", where), require<std::string>(match, "head", where),
                         require<std::string>(match, "unmatched", where)});
  }
  return out;
}

const Cell& cell_of(const store::RunFolder& folder, const std::string& id) {
  const auto& cells = folder.info().cells;
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.id == id; });
  if (found == cells.end()) throw ContractError(fmt::format("{}: no cell \"{}\"", folder.path().string(), id));
  return *found;
}

std::string why_unmatched(const char* arm, const Plan& other, std::size_t place) {
  const auto found = other.unsupported.find(place);
  return fmt::format("not in {}: {}", arm,
                     found == other.unsupported.end() ? "another cell is the same there" : found->second);
}

verdict::GateLaunch gate_launch(const LaunchRecord& record) {
  verdict::GateLaunch out;
  if (record.status == Status::ok) {
    out.metrics = record.metrics;
    return out;
  }
  out.use = outside_doing(record) ? verdict::LaunchUse::outside : verdict::LaunchUse::failed;
  out.what = fmt::format("{}{}{}", to_string(record.status), record.reason.empty() ? "" : ": ", record.reason);
  return out;
}

const Json* place_of(const LaunchRecord& record) {
  const auto found = record.detail.find("gate");
  return found == record.detail.end() ? nullptr : &*found;
}

}  // namespace

std::vector<GateSetup::Match> match_arms(const Plan& base, const Plan& head) {
  std::map<std::size_t, GateSetup::Match> by_place;
  for (std::size_t i = 0; i < base.cells.size(); ++i) by_place[base.places[i]].base = base.cells[i].id;
  for (std::size_t i = 0; i < head.cells.size(); ++i) by_place[head.places[i]].head = head.cells[i].id;
  std::vector<GateSetup::Match> out;
  for (auto& [place, match] : by_place) {
    if (match.head.empty()) match.unmatched = why_unmatched("head", head, place);
    if (match.base.empty()) match.unmatched = why_unmatched("base", base, place);
    out.push_back(std::move(match));
  }
  return out;
}

std::string cells_digest(const std::string& suite_path) {
  return sha256_hex(dump_line(store::cells_json(config::load_suite(suite_path).cells)));
}

GateFolder::GateFolder(std::filesystem::path path, store::RunFolder base, store::RunFolder head, GateSetup setup)
    : path_(std::move(path)),
      base_(std::move(base)),
      head_(std::move(head)),
      setup_(std::move(setup)),
      tries_(setup_.cells.size()) {
  std::map<std::string, std::size_t> base_places, head_places;
  for (std::size_t i = 0; i < setup_.cells.size(); ++i) {
    base_places[setup_.cells[i].base] = i;
    head_places[setup_.cells[i].head] = i;
  }
  for (const auto& record : base_.records()) note(base_places.at(record.cell_id), record);
  for (const auto& record : head_.records()) note(head_places.at(record.cell_id), record);
}

void GateFolder::note(std::size_t cell, const LaunchRecord& record) {
  const auto* place = place_of(record);
  if (place == nullptr) return;
  auto& last = tries_[cell][record.launch];
  last = std::max(last, require<int>(*place, "try", record.cell_id));
  attempts_ = std::max(attempts_, require<int>(*place, "attempt", record.cell_id));
}

GateFolder GateFolder::create(const std::filesystem::path& path, store::RunInfo base, store::RunInfo head,
                              const GateSetup& setup) {
  if (std::filesystem::exists(path / "base") || std::filesystem::exists(path / "head") ||
      std::filesystem::exists(path / "run.json"))
    throw store::RunConflict(path.string() + " holds a gate or a run already; --resume goes on with a gate");
  store::make_output_folder(path);
  base.gate = to_json(setup, "base");
  head.gate = to_json(setup, "head");
  auto base_run = store::RunFolder::create(path / "base", std::move(base));
  auto head_run = store::RunFolder::create(path / "head", std::move(head));
  return {path, std::move(base_run), std::move(head_run), setup};
}

GateFolder GateFolder::resume(const std::filesystem::path& path, const std::string& suite_path,
                              const LauncherChoice& launcher) {
  if (!std::filesystem::exists(path / "head" / "run.json"))
    throw ContractError(fmt::format("{}: holds no gate (head/run.json is missing)", path.string()));
  auto base = resume_run(path / "base", suite_path, launcher);
  auto head = resume_run(path / "head", suite_path, launcher);
  auto setup = setup_from_json(base.info().gate, (path / "base" / "run.json").string());
  GateFolder out(path, std::move(base), std::move(head), std::move(setup));
  out.require_same_suite(suite_path);
  return out;
}

void GateFolder::require_same_suite(const std::string& suite_path) const {
  if (base_.info().suite_hash == suite_hash(suite_path) && setup_.cells_digest == cli::cells_digest(suite_path)) return;
  throw config::ConfigError("", 0, 0,
                            fmt::format("{}: {} or a suite that it extends has changed since the gate began; its "
                                        "launches cannot be mixed with new ones: start a new gate",
                                        path_.string(), suite_path));
}

std::vector<verdict::GateCell> GateFolder::cells() const {
  using Key = std::tuple<std::string, int, int>;  // cell, pair, try
  const auto by_place = [](const store::RunFolder& folder) {
    std::map<Key, const LaunchRecord*> out;
    for (const auto& record : folder.records()) {
      const auto* place = place_of(record);
      if (place != nullptr) out[{record.cell_id, record.launch, place->at("try").get<int>()}] = &record;
    }
    return out;
  };
  const auto base_records = by_place(base_), head_records = by_place(head_);
  std::vector<verdict::GateCell> out;
  for (std::size_t i = 0; i < setup_.cells.size(); ++i) {
    const auto& match = setup_.cells[i];
    auto& cell = out.emplace_back();
    if (!match.base.empty()) cell.base = cell_of(base_, match.base);
    if (!match.head.empty()) cell.head = cell_of(head_, match.head);
    cell.unmatched = match.unmatched;
    for (const auto& [pair, last] : tries_[i]) {
      const auto stage = pair < static_cast<int>(setup_.policy.screen_pairs) ? verdict::GateStage::screen
                                                                             : verdict::GateStage::confirm;
      for (int number = 1; number <= last; ++number) {
        const auto base = base_records.find({match.base, pair, number});
        const auto head = head_records.find({match.head, pair, number});
        if (base != base_records.end() && head != head_records.end())
          cell.tries.push_back(gate_try(stage, pair, *base->second, *head->second));
      }
    }
  }
  return out;
}

/// Whether both arms run the same files. A planted slowdown changes none.
bool GateFolder::one_program(const GateSetup::Match& match) const {
  const auto program = [](const store::RunFolder& folder, const std::string& id) {
    const auto& cell = cell_of(folder, id);
    auto out = identity_json(cell);
    out.erase("perturb");
    out["workers"] = folder.info().workers;
    return out;
  };
  return program(base_, match.base) == program(head_, match.head);
}

std::vector<bool> GateFolder::warm_up_arms(std::size_t cell) const {
  const auto& match = setup_.cells[cell];
  if (!setup_.policy.warm_up || !match.unmatched.empty() || next_try(cell, 0) > 1) return {};
  const bool head_first = verdict::head_goes_first(setup_.policy.seed, cell, 0);
  if (one_program(match)) return {head_first};
  return {head_first, !head_first};
}

int GateFolder::next_try(std::size_t cell, int pair) const {
  const auto found = tries_[cell].find(pair);
  return found == tries_[cell].end() ? 1 : found->second + 1;
}

int GateFolder::attempts() const {
  return attempts_;
}

void GateFolder::append(std::size_t cell, bool head, LaunchRecord record, const Json& place) {
  record.detail["gate"] = place;
  arm(head).append(record);
  note(cell, record);
}

verdict::GateTry gate_try(verdict::GateStage stage, int pair, const LaunchRecord& base, const LaunchRecord& head) {
  verdict::GateTry out{stage, pair, gate_launch(base), gate_launch(head), ""};
  if (base.status == Status::ok && head.status == Status::ok) out.spoilt = summary::changed_clocks(base, head);
  return out;
}

}  // namespace stepgauge::cli
