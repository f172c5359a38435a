#include "launch/rank_agent.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "launch/agent_guard.hpp"
#include "launch/agent_log.hpp"
#include "launch/clock.hpp"
#include "launch/engine_place.hpp"
#include "launch/engine_request.hpp"
#include "launch/launch_session.hpp"
#include "launch/local_ranks.hpp"
#include "launch/network.hpp"
#include "launch/rendezvous.hpp"
#include "launch/subreaper.hpp"
#include "machine/machine.hpp"

namespace stepgauge::launch {
namespace {

constexpr double heartbeat_s = 1;
constexpr double steps_told_every_s = 0.1;
constexpr double look_for_rendezvous_s = 0.02;
constexpr double no_limit_s = 1e9;      ///< silence is the launcher's to judge, which sees every rank
constexpr double spare_deadline_s = 5;  ///< beyond deadline and grace, for an agent that hangs itself

class Agent {
 public:
  Agent(const std::filesystem::path& folder, int signal_fd)
      : folder_(folder),
        request_(read_request(folder)),
        shell_(machine::all_variables()),
        place_(engine_place(request_.engine, shell_)),
        cell_(read_cell(folder)),
        log_(folder, place_.rank),
        guard_(folder, signal_fd, cell_.limits.launch_s + 2 * cell_.limits.grace_s + spare_deadline_s) {}

  void run() {
    const auto node = shell_.find("SLURMD_NODENAME");  // a host may have another name of its own
    const bool named = request_.engine == Engine::srun && node != shell_.end();
    log_.started(named ? node->second : host_name(), host_name(), ::getpid());
    try {
      if (auto reason = refusal(); !reason.empty()) {
        log_.refused(reason);
        return;
      }
      const SubreaperGuard subreaper;
      auto placement = meet();
      if (!placement) return;
      run_worker(std::move(*placement));
    } catch (const std::exception& error) {
      log_.refused(error.what());
    }
  }

 private:
  static EngineRequest read_request(const std::filesystem::path& folder) {
    const auto path = (folder / engine_file_name).string();
    return engine_request_from_json(parse_json(read_text_file(path), path), path);
  }
  static Cell read_cell(const std::filesystem::path& folder) {
    const auto path = (folder / cell_file_name).string();
    return cell_from_json(parse_json(read_text_file(path), path), path);
  }

  std::string refusal() const {
    if (place_.ranks != request_.ranks) {
      return fmt::format("{} started {} ranks, {} are asked for", to_string(request_.engine), place_.ranks,
                         request_.ranks);
    }
    if (auto reason = digest_problem(request_, folder_); !reason.empty()) return reason;
    if (::chdir(request_.folder_of_work.c_str()) != 0) {
      return fmt::format("{}: no such folder here; worker and run folder must have the same path on every host",
                         request_.folder_of_work);
    }
    if (auto reason = interface_problem(cell_.ddp.interface); !reason.empty()) return reason;
    if (cell_.device == "cuda") return machine::unmet_requirement(cell_, machine::inspect(), devices()).value_or("");
    return {};
  }

  std::vector<int> devices() const {
    auto out = request_.devices;
    if (out.size() > static_cast<std::size_t>(place_.local_ranks))
      out.resize(static_cast<std::size_t>(place_.local_ranks));
    return out;
  }

  /// Opens the socket (rank 0) or waits for its address; nullopt when the launch ended before.
  std::optional<LocalPlacement> meet() {
    LocalPlacement out;
    out.first_rank = place_.rank;
    out.first_local_rank = place_.local_rank;
    out.local_world_size = place_.local_ranks;
    out.launch_id = request_.launch_id;
    out.shell = request_.shell;
    if (const auto mask = shell_.find("CUDA_VISIBLE_DEVICES"); mask != shell_.end()) out.shell.insert(*mask);
    if (cell_.ddp.backend == "mpi") out.engine = mpi_variables(shell_);
    if (place_.ranks == 1) return out;
    if (place_.rank == 0) {
      const bool one_host = place_.local_ranks == place_.ranks && cell_.ddp.interface.empty();
      out.master_address = one_host ? "127.0.0.1" : reachable_address(cell_.ddp.interface);
      auto listening = ListenSocket::open(out.master_address);
      out.master_port = listening.port;
      out.store = std::move(listening.fd);
      publish(folder_, {request_.launch_id, out.master_address, out.master_port});
      return out;
    }
    double told_s = 0;
    const auto found = await_rendezvous(folder_, request_.launch_id, [&] {
      if (unix_s() - told_s > heartbeat_s) {
        log_.alive("", std::nullopt, std::nullopt);
        told_s = unix_s();
      }
      poll_for({}, look_for_rendezvous_s, guard_.fd());
      return !guard_.triggered();
    });
    if (!found) return std::nullopt;
    out.master_address = found->address;
    out.master_port = found->port;
    return out;
  }

  LaunchRequest launch_request() {
    LaunchRequest out;
    out.cell = cell_;
    out.cell.limits.launch_s += cell_.limits.grace_s;  // the launcher's own clock comes first
    out.cell.limits.silence_s = out.cell.limits.compile_s = no_limit_s;
    out.launch = request_.launch;
    out.command = request_.command;
    out.folder = folder_;
    out.devices = devices();
    for (const auto device : out.devices) out.used_before_mib.push_back(machine::gpu_memory_used_mib(device));
    out.caches = request_.caches;
    out.replay_plan = request_.replay_plan;
    out.memory_history = request_.memory_history;
    out.interrupt_fd = guard_.fd();
    out.interrupt_grace_s = cell_.limits.grace_s;
    out.on_rank_started = [this](int, pid_t pid) { log_.worker(pid); };
    return out;
  }

  void run_worker(LocalPlacement placement) {
    const auto request = launch_request();
    const double began_unix_s = unix_s();
    double told_s = -heartbeat_s;
    std::string told_phase;
    const LaunchSession::OnProgress tell = [&](const Progress& progress) {
      if (progress.phase == told_phase && progress.elapsed_s - told_s < steps_told_every_s) return;
      told_phase = progress.phase;
      told_s = progress.elapsed_s;
      log_.alive(progress.phase, progress.step, began_unix_s + progress.last_sign_s);
    };
    LaunchSession session(request, std::make_unique<LocalRanks>(request, std::move(placement)), tell);
    auto outcome = session.run();
    if (outcome.ranks.front().pid == 0 && !guard_.triggered()) {
      log_.refused(outcome.reason);
      return;
    }
    AgentExit exit;
    exit.exit = std::move(outcome.ranks.front());
    exit.began_unix_s = began_unix_s;
    exit.left_behind = session.surroundings().left_behind;
    exit.conflicts = session.surroundings().conflicts;
    exit.notes = session.surroundings().notes;
    if (exit.exit.killed_by_harness)
      exit.notes.push_back(fmt::format("rank {} was ended: {}", place_.rank, why_ended()));
    log_.exited(exit);
  }

  std::string why_ended() const {
    const auto why = guard_.why();
    return why.empty() ? "its agent's own deadline" : why;
  }

  std::filesystem::path folder_;
  EngineRequest request_;
  machine::Variables shell_;
  EnginePlace place_;
  Cell cell_;
  AgentLog log_;
  AgentGuard guard_;
};

}  // namespace

void run_rank_agent(const std::filesystem::path& folder, int signal_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  Agent agent(folder, signal_fd);
  agent.run();
}

}  // namespace stepgauge::launch
