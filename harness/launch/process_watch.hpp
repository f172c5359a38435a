#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.hpp"
#include "launch/log_sink.hpp"
#include "launch/rank_process.hpp"

struct pollfd;

namespace stepgauge::launch {

/// Cuts the progress channel into lines and keeps what they say. Lines: "phase NAME", "step N"; others are signs of
/// life alone.
class ProgressParser {
 public:
  /// True when phase or step changed. `now_s`: since launch start.
  bool feed(std::string_view bytes, double now_s = 0);
  const std::string& phase() const { return phase_; }
  std::optional<std::int64_t> step() const { return step_; }
  /// Every phase told so far, at most 64.
  const std::vector<PhaseStart>& phases() const { return phases_; }

 private:
  bool take_line(std::string_view line, double now_s);

  std::string partial_;
  std::string phase_;
  std::vector<PhaseStart> phases_;
  std::optional<std::int64_t> step_;
};

/// One process under way, a rank or the engine that starts ranks: itself, its logs and its channel of progress.
class ProcessWatch {
 public:
  /// Opens the logs NAME.out and NAME.err and the pipes. Throws std::system_error.
  ProcessWatch(const std::string& name, const std::filesystem::path& folder);

  /// Takes progress from a named pipe, made anew at `path`, in place of the descriptor; finish() removes it. Before
  /// connect(). Throws std::system_error.
  void use_fifo(const std::filesystem::path& path);
  /// Fills in the pipes; started by start().
  void connect(SpawnPlan& plan) const;
  /// Starts the process and closes the write ends here; throws std::system_error when it cannot be started.
  void start(const SpawnPlan& plan);

  bool started() const { return process_.has_value(); }
  bool running() const { return process_ && process_->running(); }
  bool has_pidfd() const { return process_ && process_->pidfd() >= 0; }
  RankProcess& process() { return *process_; }
  const RankProcess& process() const { return *process_; }

  void add_poll(std::vector<pollfd>& polls) const;
  /// Reads what is there, at most `max_bytes` a pipe; true when the progress changed. `now_s`: since launch start.
  bool read_pipes(double now_s, std::size_t max_bytes);
  /// Reaps when it has ended; true once it has.
  bool try_reap(double now_s);

  const ProgressParser& progress() const { return progress_; }
  double last_sign_s() const { return last_sign_s_; }
  const LogSink& error_log() const { return *err_.sink; }
  void mark_killed_by_harness() { killed_by_harness_ = true; }
  bool killed_by_harness() const { return killed_by_harness_; }

  /// Writes the logs out and tells how it went, without the number of the rank and its record.
  RankExit finish();
  std::vector<std::string> log_errors() const;

 private:
  struct Stream {
    machine::UniqueFd read_end, write_end;
    std::string name;
    std::unique_ptr<LogSink> sink;
  };
  bool drain(machine::UniqueFd& pipe, std::size_t max_bytes, double now_s, LogSink* sink);

  Stream out_, err_;
  machine::UniqueFd progress_read_, progress_write_;
  std::filesystem::path fifo_;
  ProgressParser progress_;
  std::optional<RankProcess> process_;
  double last_sign_s_ = 0;
  double ended_s_ = 0;
  bool killed_by_harness_ = false;
};

}  // namespace stepgauge::launch
