#pragma once
// The ranks of one launch, wherever they run: what a session starts, hears and ends.
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.hpp"
#include "launch/outcome.hpp"
#include "launch/tree_killer.hpp"

namespace stepgauge::launch {

/// What came in since the last look: positions in RankGroup::states().
struct RankNews {
  std::vector<std::size_t> told;   ///< phase or step changed
  std::vector<std::size_t> ended;  ///< ended since
};

/// Times are seconds since the start of the launch, by the clock of this process.
class RankGroup {
 public:
  explicit RankGroup(std::string launch_id) : tree_(std::move(launch_id)) {}
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  virtual ~RankGroup();

  /// "cannot start ...", empty once they are started. Throws std::system_error when the folder cannot be written and
  /// std::invalid_argument for a device that is not there.
  virtual std::string start(double now_s) = 0;
  virtual std::vector<RankState> states() const = 0;
  /// Something has to be waited for: a rank, or what started it.
  virtual bool running() const = 0;
  /// Waits for at most `wait_s`, or until there is news or `wake_fd` (-1: none) is readable.
  virtual void wait(double wait_s, int wake_fd) = 0;
  virtual RankNews take_news(double now_s) = 0;
  virtual bool ended_well(std::size_t index) const = 0;  ///< exit code 0

  /// The launch as a whole cannot go on, whatever its ranks say; explain() tells why.
  virtual bool broken(double now_s) const;
  /// Seconds at the start that count against no limit.
  virtual double waited_s(double now_s) const;
  /// What the launcher adds to the grace of the cell before it kills.
  virtual double extra_grace_s() const;
  /// How long processes may take to go after the last rank before they count as left behind.
  virtual double settle_s(bool signalled) const;

  /// Asks everything to end; what runs now counts as ended by the launcher.
  virtual void terminate() = 0;
  /// Ends everything; called again until nothing runs.
  virtual void kill(double now_s) = 0;
  /// Kills without waiting: an exception is on its way. Never throws.
  virtual void abandon() noexcept = 0;
  /// Ends what of the launch is not below this process, once nothing of it is: containers. Waits until it is gone.
  virtual void end_elsewhere() noexcept;

  /// How each rank went, without records; call once, at the end.
  virtual std::vector<RankExit> finish() = 0;
  /// Adds what else is known: conflicts, notes, and what the group as a whole died of.
  virtual void explain(LaunchFacts& facts, Surroundings& surroundings) = 0;

  TreeKiller& tree() { return tree_; }

 private:
  TreeKiller tree_;
};

}  // namespace stepgauge::launch
