#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/launcher.hpp"
#include "launch/listen_socket.hpp"
#include "launch/outcome.hpp"
#include "launch/rank_record_file.hpp"
#include "launch/rank_watch.hpp"
#include "launch/shared_memory.hpp"
#include "launch/tree_killer.hpp"

namespace stepgauge::launch {

/// One launch from start to end. Signs of life of a rank are its lines of progress and its output, nothing else: a rank
/// that burns CPU without a word is silent.
class LaunchSession {
 public:
  using OnProgress = std::function<void(const Progress&)>;

  LaunchSession(const LaunchRequest& request, const OnProgress& on_progress);
  ~LaunchSession();
  LaunchSession(const LaunchSession&) = delete;
  LaunchSession& operator=(const LaunchSession&) = delete;

  LaunchOutcome run();

 private:
  enum class Stage {
    running,
    sibling_grace,  ///< a rank failed; the others may end by themselves
    terminating,    ///< SIGTERM sent
    killing,        ///< SIGKILL sent, again and again
  };

  void prepare_folder();
  void start_ranks();
  void start_rank(RankWatch& rank, int index, const ListenSocket& store);
  /// Made when missing; empty when the cell has no compile caches.
  std::string cache_folder(int rank) const;
  void watch_ranks();
  bool any_running() const;
  /// Waits for at most `wait_s` for news and takes it in.
  void wait_for_news(double wait_s);
  void take_news();
  void note_end(RankWatch& rank, int index);
  /// What the clocks demand now; the seconds until they may demand more.
  double apply_clocks();
  double check_limits();
  /// How long a rank may be silent now: longer while one of them compiles, since the others wait for it.
  std::pair<const char*, double> silence_limit() const;
  void declare_hung(const char* limit, double limit_s);
  void stop_ranks(bool by_user);
  void kill_ranks();
  void end_leftovers();
  void tell(int rank);
  bool interrupt_pending() const;
  double now_s() const;
  double grace_s() const;
  LaunchOutcome conclude();

  const LaunchRequest& request_;
  const OnProgress& on_progress_;
  std::string launch_id_;
  TreeKiller tree_;
  SharedMemoryWatch shared_memory_;
  std::filesystem::path folder_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  std::vector<RankWatch> ranks_;
  std::vector<RankRecordFile> records_;
  LaunchFacts facts_;
  Surroundings surroundings_;
  Stage stage_ = Stage::running;
  double stage_since_s_ = 0;
  double last_tick_s_ = 0;
  bool interrupted_ = false;
  bool over_ = false;
};

}  // namespace stepgauge::launch
