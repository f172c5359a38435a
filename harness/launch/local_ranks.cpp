#include "launch/local_ranks.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "contract/clock.hpp"
#include "launch/clock.hpp"
#include "launch/environment.hpp"
#include "launch/network.hpp"
#include "machine/machine.hpp"

namespace stepgauge::launch {
namespace {

constexpr double poll_without_pidfd_s = 0.005;
constexpr double monitor_ends_s = 5;
constexpr std::size_t read_at_once = 1u << 20;  // a pipe cannot keep the others, or the clocks, waiting for longer

}  // namespace

LocalPlacement whole_launch(const LaunchRequest& request, std::string launch_id) {
  LocalPlacement out;
  out.count = out.local_world_size = request.cell.ddp.ranks;
  if (request.cell.ddp.ranks > 1) {
    out.store_is_held = request.container && !request.container->passes_descriptors();
    auto socket =
        out.store_is_held ? ListenSocket::reserve(out.master_address) : ListenSocket::open(out.master_address);
    out.master_port = socket.port;
    out.store = std::move(socket.fd);
  }
  out.shell = machine::all_variables();
  out.launch_id = std::move(launch_id);
  return out;
}

LocalRanks::LocalRanks(const LaunchRequest& request, LocalPlacement placement)
    : RankGroup(placement.launch_id),
      request_(request),
      placement_(std::move(placement)),
      folder_(std::filesystem::absolute(request.folder)) {
  ranks_.reserve(static_cast<std::size_t>(placement_.count));
  for (int i = 0; i < placement_.count; ++i) {
    const int rank = placement_.first_rank + i;
    std::filesystem::remove_all(folder_ / rank_record_name(rank));
    ranks_.emplace_back(rank_name(rank), folder_);
  }
  if (request.container) containers_.emplace(request);
}

std::string LocalRanks::start(double) {
  if (auto reason = interface_problem(request_.cell.ddp.interface); !reason.empty()) return reason;
  try {
    for (std::size_t i = 0; i < ranks_.size(); ++i) start_rank(i);
    if (!placement_.store_is_held) placement_.store.reset();  // when rank 0 is gone, nobody listens
  } catch (const std::system_error& error) {
    const auto& program = containers_ ? containers_->image().program : request_.command.front();
    return fmt::format("cannot start {}: {}", program, std::strerror(error.code().value()));
  }
  return {};
}

RankPlace LocalRanks::place_of(int index) const {
  RankPlace place;
  place.launch = request_.launch;
  place.rank = placement_.first_rank + index;
  place.local_rank = placement_.first_local_rank + index;
  place.local_world_size = placement_.local_world_size;
  place.cell_path = (folder_ / cell_file_name).string();
  place.record_path = (folder_ / rank_record_name(place.rank)).string();
  if (request_.cell.measure.trace_steps > 0) place.trace_path = (folder_ / trace_file_name(place.rank)).string();
  place.nccl_log_path = (folder_ / nccl_log_name(place.rank)).string();
  if (request_.memory_history) place.memory_history_path = (folder_ / memory_history_name(place.rank)).string();
  place.cache_path = cache_folder(place.rank);
  if (!request_.replay_plan.empty()) place.replay_path = std::filesystem::absolute(request_.replay_plan).string();
  place.launch_id = placement_.launch_id;
  if (passes_descriptors()) {
    place.progress_fd = SpawnPlan::progress_fd;
    if (placement_.store && place.rank == 0) place.store_fd = SpawnPlan::store_fd;
  } else {
    place.progress_fifo = (folder_ / progress_fifo_name(place.rank)).string();
  }
  place.master_address = placement_.master_address;
  place.master_port = placement_.master_port;
  place.devices = request_.devices;
  place.usable_cores = machine::usable_cores();
  if (static_cast<std::size_t>(place.local_rank) < request_.used_before_mib.size()) {
    place.used_before_mib = request_.used_before_mib[static_cast<std::size_t>(place.local_rank)];
  }
  return place;
}

void LocalRanks::start_rank(std::size_t index) {
  auto& rank = ranks_[index];
  auto place = place_of(static_cast<int>(index));
  place.spawn_ns = monotonic_ns();
  auto environment = rank_environment(placement_.shell, request_.cell, place);
  for (const auto& [name, value] : placement_.engine) environment.variables.emplace(name, value);

  SpawnPlan plan;
  if (containers_) {
    containers_->fill(plan, place, placement_.shell, environment.variables);
    if (!place.progress_fifo.empty()) rank.use_fifo(place.progress_fifo);
  } else {
    plan.program = find_worker(request_.command.front(), environment.variables);
    plan.arguments = request_.command;
    for (const auto& [name, value] : environment.variables) plan.environment.push_back(name + "=" + value);
  }
  if (place.store_fd) plan.store = placement_.store.get();
  rank.connect(plan);
  conflicts_ = std::move(environment.conflicts);
  rank.start(plan);
  if (containers_) containers_->started(place.rank);
  const bool is_the_worker = !containers_ || !containers_->image().outlives_client();
  if (request_.on_rank_started && is_the_worker) request_.on_rank_started(place.rank, rank.process().pid());
}

std::string LocalRanks::cache_folder(int rank) const {
  if (request_.cell.cache.empty()) return "";
  const auto caches = request_.caches.empty() ? folder_ / cold_cache_name : std::filesystem::absolute(request_.caches);
  const auto path = caches / rank_cache_name(rank);
  std::filesystem::create_directories(path);
  return path.string();
}

std::vector<RankState> LocalRanks::states() const {
  std::vector<RankState> out;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const auto& rank = ranks_[i];
    out.push_back({placement_.first_rank + static_cast<int>(i), rank.running(), rank.progress().phase(),
                   rank.progress().step(), rank.last_sign_s()});
  }
  return out;
}

bool LocalRanks::running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const ProcessWatch& rank) { return rank.running(); });
}

void LocalRanks::wait(double wait_s, int wake_fd) {
  std::vector<pollfd> polls;
  for (const auto& rank : ranks_) {
    rank.add_poll(polls);
    if (rank.running() && !rank.has_pidfd()) wait_s = std::min(wait_s, poll_without_pidfd_s);
  }
  poll_for(std::move(polls), wait_s, wake_fd);
}

RankNews LocalRanks::take_news(double now_s) {
  RankNews news;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto& rank = ranks_[i];
    const bool was_running = rank.running();
    if (rank.read_pipes(now_s, read_at_once)) news.told.push_back(i);
    if (!was_running || !rank.try_reap(now_s)) continue;
    rank.read_pipes(now_s, read_at_once);  // what it said last
    news.ended.push_back(i);
    if (const auto code = rank.process().exit_code(); containers_ && code && !rank.killed_by_harness())
      containers_->ended(placement_.first_rank + static_cast<int>(i), *code);
  }
  return news;
}

bool LocalRanks::ended_well(std::size_t index) const {
  return ranks_[index].started() && ranks_[index].process().exit_code() == 0;
}

void LocalRanks::terminate() {
  for (auto& rank : ranks_) {
    if (rank.running()) rank.mark_killed_by_harness();
  }
  tree().send(SIGTERM);
}

void LocalRanks::kill(double) {
  tree().send(SIGKILL);
  for (auto& rank : ranks_) {
    if (rank.running()) rank.process().send(SIGKILL);
  }
}

void LocalRanks::abandon() noexcept {
  tree().send(SIGKILL);
  ranks_.clear();
}

void LocalRanks::end_elsewhere() noexcept {
  if (containers_) containers_->end_all();
}

/// Podman's monitor of a container ends a little after it.
double LocalRanks::settle_s(bool signalled) const {
  const bool monitored = containers_ && containers_->image().engine == ContainerEngine::podman;
  return monitored ? monitor_ends_s : RankGroup::settle_s(signalled);
}

std::vector<RankExit> LocalRanks::finish() {
  std::vector<RankExit> out;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    out.push_back(ranks_[i].finish());
    out.back().rank = placement_.first_rank + static_cast<int>(i);
    if (containers_) containers_->tell_signal(out.back());
  }
  return out;
}

void LocalRanks::explain(LaunchFacts& facts, Surroundings& surroundings) {
  surroundings.conflicts = conflicts_;
  if (containers_) {
    facts.container = to_json(containers_->image());
    if (auto reason = containers_->failure(facts.ranks); !reason.empty() && !facts.group)
      facts.group = Judgement{Status::crashed, std::move(reason)};
    surroundings.notes.insert(surroundings.notes.end(), containers_->notes().begin(), containers_->notes().end());
  }
  for (const auto& rank : ranks_) {
    for (auto& error : rank.log_errors()) surroundings.notes.push_back(std::move(error));
  }
}

}  // namespace stepgauge::launch
