#pragma once
// rank<r>.agent.jsonl: what the agent of a rank tells the launcher, one line an event, through the shared folder.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/environment.hpp"
#include "launch/launcher.hpp"
#include "launch/tree_killer.hpp"

namespace stepgauge::launch {

std::string agent_log_name(int rank);

/// How a rank ended, as its agent saw it. Times of `exit` are seconds since `began_unix_s`.
struct AgentExit {
  RankExit exit;
  double began_unix_s = 0;
  std::vector<LeftBehind> left_behind;
  std::vector<EnvironmentConflict> conflicts;
  std::vector<std::string> notes;
};

/// The agent's end. Every line is on its way when a call returns; a folder that cannot be written any more is not an
/// error here: the launcher sees the silence.
class AgentLog {
 public:
  /// Throws std::system_error.
  AgentLog(const std::filesystem::path& folder, int rank);

  /// `node`: the host by the engine's name; `host`: as it calls itself.
  void started(const std::string& node, const std::string& host, pid_t agent);
  void refused(const std::string& reason);
  void worker(pid_t pid);
  /// `sign_unix_s`: the worker's last sign of life; absent before it runs.
  void alive(const std::string& phase, std::optional<std::int64_t> step, std::optional<double> sign_unix_s);
  void exited(const AgentExit& exit);

 private:
  void line(Json value);

  std::filesystem::path path_;
};

/// The launcher's end.
class AgentView {
 public:
  AgentView(const std::filesystem::path& folder, int rank);

  /// Reads what was added; true when a phase or step changed or an event came. `now_unix_s`: now, by this host's clock.
  bool read(double now_unix_s);

  bool heard() const { return heard_unix_s_.has_value(); }
  double heard_unix_s() const { return heard_unix_s_.value_or(0); }  ///< when the last line was read here
  const std::string& node() const { return node_; }
  const std::string& host() const { return host_; }
  const std::string& refusal() const { return refusal_; }
  const std::string& phase() const { return phase_; }
  std::optional<std::int64_t> step() const { return step_; }
  std::optional<pid_t> worker() const { return worker_; }
  std::optional<double> sign_unix_s() const;  ///< by this host's clock
  const std::optional<AgentExit>& exit() const { return exit_; }
  /// A time of the agent's clock by this host's: clocks that differ by less than `clocks_agree_s` are taken as one.
  double here(double agent_unix_s) const;
  const std::string& trouble() const { return trouble_; }  ///< a line that could not be read

  static constexpr double clocks_agree_s = 0.3;

 private:
  bool take(std::string_view text, double now_unix_s);

  std::filesystem::path path_;
  int rank_;
  std::uint64_t offset_ = 0;
  std::string partial_, node_, host_, refusal_, phase_, trouble_;
  std::optional<std::int64_t> step_;
  std::optional<pid_t> worker_;
  std::optional<double> heard_unix_s_, sign_unix_s_;
  std::optional<double> least_lag_s_;  ///< of a line: its way here and how far the clocks are apart
  std::optional<AgentExit> exit_;
};

}  // namespace stepgauge::launch
