#include "cli/cell_launcher.hpp"

#include <fmt/format.h>

#include <thread>

#include "cli/collective_check.hpp"
#include "cli/compile_caches.hpp"
#include "cli/launch_traces.hpp"
#include "cli/stall_check.hpp"
#include "cli/suite_options.hpp"
#include "cli/worker_containers.hpp"
#include "machine/health.hpp"
#include "summary/launch_summary.hpp"

namespace stepgauge::cli {
namespace {

constexpr double memory_back_mib = 64;  ///< how near to the reading before the launch counts as "back"
constexpr auto memory_wait = std::chrono::seconds(10);

using Readings = std::vector<std::optional<double>>;

Readings memory_in_use(const std::vector<int>& devices) {
  Readings out;
  for (const auto device : devices) out.push_back(machine::gpu_memory_used_mib(device));
  return out;
}

/// Waits until the devices hold no more than before the launch: the driver frees a dead process's memory a little
/// later.
Readings wait_for_memory(const std::vector<int>& devices, const Readings& before) {
  const auto end = std::chrono::steady_clock::now() + memory_wait;
  for (;;) {
    auto now = memory_in_use(devices);
    bool back = true;
    for (std::size_t i = 0; i < now.size(); ++i)
      back = back && (!now[i] || !before[i] || *now[i] <= *before[i] + memory_back_mib);
    if (back || std::chrono::steady_clock::now() > end) return now;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Json readings_json(const Readings& readings) {
  auto out = Json::array();
  for (const auto& value : readings) out.push_back(value ? Json(*value) : Json(nullptr));
  return out;
}

summary::LaunchSpans spans_of_launch(const launch::LaunchOutcome& outcome) {
  std::vector<std::vector<PhaseStart>> phases;
  for (const auto& rank : outcome.ranks) phases.push_back(rank.phases);
  return summary::spans_of(phases, outcome.duration_s);
}

std::string relative_to(const store::RunFolder& folder, const std::filesystem::path& path) {
  return path.lexically_relative(folder.path()).string();
}

}  // namespace

std::optional<LaunchRecord> CellLauncher::attempt(const Cell& cell, int launch) {
  const int number = folder_.next_attempt(cell, launch);
  const Attempt attempt{cell, launch, number, folder_.launch_folder(cell, launch, number)};
  Json evidence = Json::object();
  if (cell.cache == "warm") {
    auto failure = fill_caches(attempt, evidence);
    if (interrupted_) return std::nullopt;
    if (failure) return failure;
  }
  return measure(attempt, std::move(evidence));
}

launch::LaunchRequest CellLauncher::request_of(const Cell& cell, int launch, const std::filesystem::path& path) const {
  launch::LaunchRequest request;
  request.cell = cell;
  request.launch = launch;
  const auto& info = folder_.info();
  set_worker(request, cell.worker, info.workers.at(cell.worker), info.environment.value("containers", Json::object()),
             (folder_.path() / "run.json: containers").string());
  request.folder = path;
  request.interrupt_fd = interrupt_.fd();
  request.devices = devices_of(cell, devices_);
  return request;
}

/// Where a cold launch leaves its caches for the warm twin of its cell: emptied; nullopt when there is no twin in this
/// run or it has them.
std::optional<std::filesystem::path> CellLauncher::caches_to_fill(const Cell& cell) const {
  const auto* twin = warm_twin(cell, folder_.info().cells);
  if (twin == nullptr) return std::nullopt;
  auto caches = warm_caches(folder_.path(), *twin);
  if (filled_by(caches, cell.ddp.ranks)) return std::nullopt;
  std::filesystem::remove_all(caches);
  return caches;
}

CellLauncher::Launched CellLauncher::launch(launch::LaunchRequest request) {
  const auto before = memory_in_use(request.devices);
  request.used_before_mib = before;
  machine::HealthSampler sampler(request.devices);
  request.on_rank_started = [&](int rank, pid_t pid) { sampler.watch_rank(rank, pid); };
  Launched out;
  out.outcome = launcher_.launch(request, [&](const launch::Progress& progress) { display_.update(progress); });
  out.health = sampler.finish(out.outcome.began);
  interrupted_ = out.outcome.interrupted;
  if (!request.devices.empty() && !interrupted_) {
    out.memory = {{"before", readings_json(before)},
                  {"after", readings_json(wait_for_memory(request.devices, before))}};
  }
  return out;
}

/// Makes sure that the caches of a warm launch are filled, if need be by a launch that is not counted, and notes in
/// `evidence` which one did. Returns the record of the warm launch when that one failed.
std::optional<LaunchRecord> CellLauncher::fill_caches(const Attempt& attempt, Json& evidence) {
  const auto& cell = attempt.cell;
  const auto caches = warm_caches(folder_.path(), cell);
  if (const auto by = filled_by(caches, cell.ddp.ranks)) {
    evidence["cache_filled_by"] = *by;
    return std::nullopt;
  }
  std::filesystem::remove_all(caches);  // half filled, damaged, or of another version
  const auto filling_path = attempt.path.string() + "-fill";
  std::filesystem::remove_all(filling_path);
  display_.start(cell, attempt.launch, "fills caches:");
  auto request = request_of(filling_cell(cell), attempt.launch, filling_path);
  request.caches = caches;
  auto filled = launch(std::move(request));
  if (interrupted_) return std::nullopt;
  auto& outcome = filled.outcome;
  const auto by = relative_to(folder_, filling_path);
  evidence["cache_filled_by"] = by;
  if (outcome.status == Status::ok) {
    outcome.reason = note_filled(caches, cell.ddp.ranks, by);
    if (outcome.reason.empty()) return std::nullopt;
    outcome.status = Status::ineffective;
  }
  std::filesystem::remove(attempt.path);  // nothing was launched in it
  summary::LaunchFacts facts;
  facts.launch = attempt.launch;
  facts.attempt = attempt.attempt;
  facts.status = outcome.status;
  facts.reason = "the launch that was to fill its caches: " + outcome.reason;
  facts.started_at = outcome.started_at;
  facts.duration_s = outcome.duration_s;
  facts.evidence = std::move(outcome.evidence);
  facts.evidence.update(evidence);
  facts.evidence["folder"] = by;
  return summary::summarise(cell, facts);
}

LaunchRecord CellLauncher::summarised(const Attempt& attempt, Launched launched, const Json& evidence) const {
  const auto& cell = attempt.cell;
  const auto& path = attempt.path;
  auto& outcome = launched.outcome;
  summary::LaunchFacts facts{attempt.launch,
                             attempt.attempt,
                             outcome.status,
                             outcome.reason,
                             outcome.started_at,
                             outcome.duration_s,
                             {},
                             outcome.evidence,
                             std::move(launched.health),
                             spans_of_launch(outcome)};
  facts.evidence.update(evidence);
  if (!launched.memory.is_null()) facts.evidence["device_memory_in_use_mib"] = std::move(launched.memory);
  for (auto& rank : outcome.ranks) {
    if (rank.record) facts.ranks.push_back(std::move(*rank.record));
  }
  auto files = read_rank_files(path, cell.ddp.ranks);
  if (auto note = settle_traces(path, files, *facts.health, outcome.began, cell.ddp.ranks, cell.measure.keep_trace);
      !note.empty())
    facts.evidence["notes"].push_back(std::move(note));
  facts.timelines = std::move(files.timelines);
  facts.trace_error = std::move(files.error);
  facts.nccl_logs = std::move(files.nccl_logs);
  if (!files.collective_logs.empty()) facts.evidence["collective_logs"] = files.collective_logs;
  check_collectives(path, files.collective_logs, facts);
  facts.evidence["folder"] = relative_to(folder_, path);
  auto record = summary::summarise(cell, facts);
  check_stall(cell, devices_of(cell, devices_), facts.nccl_logs, record);
  return record;
}

std::optional<LaunchRecord> CellLauncher::measure(const Attempt& attempt, Json evidence) {
  const auto& cell = attempt.cell;
  auto request = request_of(cell, attempt.launch, attempt.path);
  request.memory_history = inside_.memory_history;
  if (cell.cache == "warm") request.caches = warm_caches(folder_.path(), cell);
  if (cell.cache == "cold") request.caches = caches_to_fill(cell).value_or(attempt.path / launch::cold_cache_name);
  const std::filesystem::path caches = request.caches;
  display_.start(cell, attempt.launch);
  auto launched = launch(std::move(request));
  if (interrupted_) return std::nullopt;
  if (!caches.empty()) evidence["cache_mib"] = folder_mib(caches);
  if (cell.cache == "cold" && launched.outcome.status == Status::ok) settle_cold_caches(cell, attempt.path, caches);
  return summarised(attempt, std::move(launched), evidence);
}

/// Of a launch that went well. They are left to the cell's warm twin, or nobody reads them again and a run has many;
/// those of a launch that failed are kept to be looked at.
void CellLauncher::settle_cold_caches(const Cell& cell, const std::filesystem::path& path,
                                      const std::filesystem::path& caches) const {
  if (caches != path / launch::cold_cache_name) {
    note_filled(caches, cell.ddp.ranks, relative_to(folder_, path));  // not good: the twin is filled anew
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(caches, ignored);
}

}  // namespace stepgauge::cli
