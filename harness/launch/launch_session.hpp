#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launch/launcher.hpp"
#include "launch/outcome.hpp"
#include "launch/rank_group.hpp"
#include "launch/rank_record_file.hpp"
#include "launch/shared_memory.hpp"

namespace stepgauge::launch {

/// One launch from start to end: the clocks, and what they demand of a group of ranks. Signs of life of a rank are its
/// lines of progress and its output, nothing else: a rank that burns CPU without a word is silent.
class LaunchSession {
 public:
  using OnProgress = std::function<void(const Progress&)>;

  /// `request.folder` is there and holds the cell.
  LaunchSession(const LaunchRequest& request, std::unique_ptr<RankGroup> group, const OnProgress& on_progress);
  ~LaunchSession();
  LaunchSession(const LaunchSession&) = delete;
  LaunchSession& operator=(const LaunchSession&) = delete;

  LaunchOutcome run();
  const Surroundings& surroundings() const { return surroundings_; }  ///< complete after run()

 private:
  enum class Stage {
    running,
    sibling_grace,  ///< a rank failed; the others may end by themselves
    terminating,    ///< asked to end
    killing,        ///< killed, again and again
  };

  void start_ranks();
  void watch_ranks();
  /// Waits for at most `wait_s` for news and takes it in.
  void wait_for_news(double wait_s);
  void take_news();
  void note_end(std::size_t index);
  /// What the clocks demand now; the seconds until they may demand more.
  double apply_clocks();
  double check_limits();
  /// How long a rank may be silent now: longer while one of them compiles, since the others wait for it.
  std::pair<const char*, double> silence_limit(const std::vector<RankState>& states) const;
  void declare_hung(const char* limit, double limit_s);
  void stop_ranks(bool by_user);
  void end_leftovers();
  void tell(std::size_t index);
  bool interrupt_pending() const;
  double now_s() const;
  double grace_s() const;
  LaunchOutcome conclude();

  const LaunchRequest& request_;
  const OnProgress& on_progress_;
  std::unique_ptr<RankGroup> group_;
  SharedMemoryWatch shared_memory_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  std::vector<RankRecordFile> records_;
  LaunchFacts facts_;
  Surroundings surroundings_;
  Stage stage_ = Stage::running;
  double stage_since_s_ = 0;
  double last_tick_s_ = 0;
  bool interrupted_ = false;
  bool over_ = false;
};

/// Makes the launch's folder and writes its cell. Throws std::system_error, and std::invalid_argument for an empty
/// command or no rank.
void prepare_folder(const LaunchRequest& request);

/// Unique in time on this machine.
std::string new_launch_id();

}  // namespace stepgauge::launch
