#pragma once
#include <string>
#include <vector>

#include "launch/container.hpp"
#include "launch/environment.hpp"
#include "launch/launcher.hpp"
#include "launch/rank_process.hpp"

namespace stepgauge::launch {

/// The containers of one launch, one a rank: how each is started, and that none is left. The client of the engine is
/// the rank's process to this program.
class RankContainers {
 public:
  /// Keeps a reference to the request, which has a container. Throws std::system_error when a folder to be mounted has
  /// a path that an engine's command line cannot carry.
  explicit RankContainers(const LaunchRequest& request);

  const ContainerImage& image() const { return image_; }

  /// Fills in program, arguments and environment of the client. The rank's descriptors are those that `place` names.
  void fill(SpawnPlan& plan, const RankPlace& place, const Variables& shell, const Variables& rank);
  /// The rank's client runs: from now on its container has to be ended.
  void started(int rank) { open_.push_back(rank); }
  /// Its client ended by itself with this exit code, and so had its container, unless the code is the engine's own.
  void ended(int rank, int exit_code);

  /// Ends, by name, those that may still be there. Never throws.
  void end_all() noexcept;
  /// Those that could not be ended, for people.
  const std::vector<std::string>& notes() const { return notes_; }

  /// A client exits with 128 and the number of the signal that its program died by: says so as of any rank.
  void tell_signal(RankExit& rank) const;
  /// What the launch died of when a rank's program never began; empty otherwise.
  std::string failure(const std::vector<RankExit>& ranks) const;

 private:
  std::string name_of(int rank) const { return name_ + std::to_string(rank); }

  const ContainerImage& image_;
  std::vector<std::string> program_, mounts_;
  bool gpus_ = false;
  std::string name_;  ///< of the launch's containers, without the rank
  std::vector<int> open_;
  std::vector<std::string> notes_;
};

}  // namespace stepgauge::launch
