#include "cli/run_session.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <thread>

#include "cli/interrupt.hpp"
#include "cli/launch_traces.hpp"
#include "cli/progress_display.hpp"
#include "launch/launcher.hpp"
#include "machine/health.hpp"
#include "summary/launch_summary.hpp"

namespace stepgauge::cli {
namespace {

constexpr double memory_back_mib = 64;  ///< how near to the reading before the launch counts as "back"
constexpr int max_attempts = 3;
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

struct Pending {
  const Cell* cell;
  int launch;
};

std::vector<Pending> pending_launches(const store::RunFolder& folder) {
  std::vector<Pending> out;
  int most = 0;
  for (const auto& cell : folder.info().cells) most = std::max(most, cell.launches);
  for (int launch = 0; launch < most; ++launch) {
    for (const auto& cell : folder.info().cells) {
      if (launch < cell.launches && !folder.completed(cell.id, launch)) out.push_back({&cell, launch});
    }
  }
  return out;
}

summary::LaunchSpans spans_of_launch(const launch::LaunchOutcome& outcome) {
  std::vector<std::vector<PhaseStart>> phases;
  for (const auto& rank : outcome.ranks) phases.push_back(rank.phases);
  return summary::spans_of(phases, outcome.duration_s);
}

/// One attempt at one launch; nullopt when the user interrupted it.
std::optional<LaunchRecord> attempt_launch(store::RunFolder& folder, launch::Launcher& launcher, const Pending& pending,
                                           const std::vector<int>& devices, const InsideOptions& inside,
                                           int interrupt_fd, ProgressDisplay& display) {
  const auto& cell = *pending.cell;
  const int attempt = folder.next_attempt(cell, pending.launch);
  launch::LaunchRequest request;
  request.cell = cell;
  request.launch = pending.launch;
  request.command = folder.info().workers.at(cell.worker);
  request.folder = folder.launch_folder(cell, pending.launch, attempt);
  request.interrupt_fd = interrupt_fd;
  request.memory_history = inside.memory_history;
  request.devices = devices_of(cell, devices);
  const auto before = memory_in_use(request.devices);
  request.used_before_mib = before;
  display.start(cell, pending.launch);
  machine::HealthSampler sampler(request.devices);
  request.on_rank_started = [&](int rank, pid_t pid) { sampler.watch_rank(rank, pid); };
  auto outcome = launcher.launch(request, [&](const launch::Progress& progress) { display.update(progress); });
  auto health = sampler.finish(outcome.began);
  if (outcome.interrupted) return std::nullopt;
  summary::LaunchFacts facts{
      pending.launch,     attempt, outcome.status,   outcome.reason,    outcome.started_at,
      outcome.duration_s, {},      outcome.evidence, std::move(health), spans_of_launch(outcome)};
  if (!request.devices.empty()) {
    facts.evidence["device_memory_in_use_mib"] = {{"before", readings_json(before)},
                                                  {"after", readings_json(wait_for_memory(request.devices, before))}};
  }
  for (auto& rank : outcome.ranks) {
    if (rank.record) facts.ranks.push_back(std::move(*rank.record));
  }
  auto files = read_rank_files(request.folder, cell.ddp.ranks);
  if (auto note =
          settle_traces(request.folder, files, *facts.health, outcome.began, cell.ddp.ranks, cell.measure.keep_trace);
      !note.empty())
    facts.evidence["notes"].push_back(std::move(note));
  facts.timelines = std::move(files.timelines);
  facts.trace_error = std::move(files.error);
  facts.nccl_channels = std::move(files.channels);
  facts.evidence["folder"] = request.folder.lexically_relative(folder.path()).string();
  return summary::summarise(cell, facts);
}

/// Statuses that are the machine's doing, by rules fixed beforehand: the launch is made again, and every attempt stays
/// in the journal.
bool worth_another_attempt(const LaunchRecord& record) {
  return (record.status == Status::unsteady || record.status == Status::disturbed) && record.attempt < max_attempts;
}

}  // namespace

SessionResult run_session(store::RunFolder& folder, const std::vector<int>& devices, const InsideOptions& inside,
                          bool quiet, double estimated_s) {
  const auto pending = pending_launches(folder);
  const InterruptWatch interrupt;
  const auto launcher = launch::local_launcher();
  ProgressDisplay display(pending.size(), estimated_s, quiet);
  SessionResult result;
  for (const auto& one : pending) {
    for (bool again = true; again;) {
      const auto record = attempt_launch(folder, *launcher, one, devices, inside, interrupt.fd(), display);
      if (!record) {
        result.interrupted = true;
        return result;
      }
      folder.append(*record);
      again = worth_another_attempt(*record);
      display.finish(*record, again);
      ++result.launched;
    }
  }
  return result;
}

}  // namespace stepgauge::cli
