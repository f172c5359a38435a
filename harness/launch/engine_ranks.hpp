#pragma once
#include <optional>
#include <string>
#include <vector>

#include "launch/agent_log.hpp"
#include "launch/engine.hpp"
#include "launch/process_watch.hpp"
#include "launch/rank_group.hpp"

namespace stepgauge::launch {

/// Ranks that mpirun or srun places on hosts, each below an agent. This process sees them through the agents' files in
/// the launch's folder, which every host shares, and the engine as a child.
class EngineRanks final : public RankGroup {
 public:
  /// A rank whose agent is silent for this long, while the engine runs, is on a host that vanished.
  static constexpr double host_silence_s = 10;

  EngineRanks(const LaunchRequest& request, const EngineOptions& options, const std::string& launch_id);

  std::string start(double now_s) override;
  std::vector<RankState> states() const override;
  bool running() const override;
  void wait(double wait_s, int wake_fd) override;
  RankNews take_news(double now_s) override;
  bool ended_well(std::size_t index) const override;
  bool broken(double now_s) const override;
  double waited_s(double now_s) const override;
  double extra_grace_s() const override;
  double settle_s(bool signalled) const override;
  void terminate() override;
  void kill(double now_s) override;
  void abandon() noexcept override;
  std::vector<RankExit> finish() override;
  void explain(LaunchFacts& facts, Surroundings& surroundings) override;

 private:
  bool all_ended() const;
  /// The engine ended before its ranks, which their agents end.
  bool awaits_agents() const;
  std::vector<std::size_t> orphans() const;  ///< ranks that the engine left behind when it ended
  bool heard() const;
  void write_stop_file() noexcept;
  void tell_that_launcher_lives(double now_s);
  void end_idle_engine(double now_s);
  void read_engine_log();
  RankExit exit_of(const AgentView& view) const;
  double in_launch_s(double here_unix_s) const { return here_unix_s - start_unix_s_; }
  std::vector<std::size_t> lost() const;                             ///< ranks without an exit
  std::vector<std::size_t> ranks_on(const std::string& host) const;  ///< by a name that the engine uses
  /// What the launch died of as a whole, as far as it can be said now.
  std::optional<Judgement> trouble(double now_s) const;
  std::optional<Judgement> ended_without_word(const LaunchFacts& facts) const;
  std::string hosts_text(const std::vector<std::size_t>& ranks) const;

  const LaunchRequest& request_;
  EngineOptions options_;
  std::string launch_id_, here_;
  std::filesystem::path folder_;
  ProcessWatch engine_;
  std::vector<AgentView> views_;
  std::vector<bool> told_ended_, told_started_;
  double start_unix_s_ = 0;
  std::optional<double> first_heard_s_, all_ended_s_, kill_since_s_, engine_ended_s_;
  double alive_told_s_ = -1;
  EngineWords words_;
  std::uint64_t words_bytes_ = 0;
  bool stopped_ = false;
  bool engine_idle_ = false;  ///< it was ended because every rank had ended long ago
  mutable std::optional<Judgement> trouble_;
};

}  // namespace stepgauge::launch
