#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/listen_socket.hpp"
#include "launch/process_watch.hpp"
#include "launch/rank_containers.hpp"
#include "launch/rank_group.hpp"

namespace stepgauge::launch {

/// Which ranks of a launch are children of this process, and where they stand in it.
struct LocalPlacement {
  int first_rank = 0, first_local_rank = 0, count = 1;
  int local_world_size = 1;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;  ///< 0: one rank
  machine::UniqueFd store;        ///< the listening socket, where rank 0 is among them
  bool store_is_held = false;     ///< it only holds the port for rank 0, which cannot inherit it
  Variables shell;                ///< what the ranks' environment is made from
  Variables engine;               ///< passed as they are: what MPI_Init needs
  std::string launch_id;
};

/// Every rank of the cell on this host, with a socket of its own. Throws std::system_error.
LocalPlacement whole_launch(const LaunchRequest& request, std::string launch_id);

/// Ranks as children of this process.
class LocalRanks final : public RankGroup {
 public:
  /// Opens logs in `request.folder`, which is there, and removes records left by an earlier attempt.
  LocalRanks(const LaunchRequest& request, LocalPlacement placement);

  std::string start(double now_s) override;
  std::vector<RankState> states() const override;
  bool running() const override;
  void wait(double wait_s, int wake_fd) override;
  RankNews take_news(double now_s) override;
  bool ended_well(std::size_t index) const override;
  void terminate() override;
  void kill(double now_s) override;
  void abandon() noexcept override;
  void end_elsewhere() noexcept override;
  double settle_s(bool signalled) const override;
  std::vector<RankExit> finish() override;
  void explain(LaunchFacts& facts, Surroundings& surroundings) override;

 private:
  void start_rank(std::size_t index);
  RankPlace place_of(int index) const;
  bool passes_descriptors() const { return !containers_ || containers_->image().passes_descriptors(); }
  /// Made when missing; empty when the cell has no compile caches.
  std::string cache_folder(int rank) const;

  const LaunchRequest& request_;
  LocalPlacement placement_;
  std::filesystem::path folder_;
  std::vector<ProcessWatch> ranks_;
  std::optional<RankContainers> containers_;
  std::vector<EnvironmentConflict> conflicts_;
};

}  // namespace stepgauge::launch
