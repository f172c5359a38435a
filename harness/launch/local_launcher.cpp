#include <fmt/format.h>

#include "launch/launch_session.hpp"
#include "launch/launcher.hpp"
#include "launch/local_ranks.hpp"
#include "launch/subreaper.hpp"

namespace stepgauge::launch {

std::string rank_name(int rank) {
  return fmt::format("rank{}", rank);
}

std::string rank_record_name(int rank) {
  return rank_name(rank) + ".json";
}

std::string trace_file_name(int rank) {
  return fmt::format("rank{}.trace.json.gz", rank);
}

std::string nccl_log_name(int rank) {
  return fmt::format("rank{}.nccl.log", rank);
}

std::string rank_cache_name(int rank) {
  return rank_name(rank);
}

std::string memory_history_name(int rank) {
  return fmt::format("rank{}.memory.pickle", rank);
}

std::string progress_fifo_name(int rank) {
  return rank_name(rank) + ".progress";
}

namespace {

class LocalLauncher final : public Launcher {
 public:
  LaunchOutcome launch(const LaunchRequest& request, const std::function<void(const Progress&)>& on_progress) override {
    const SubreaperGuard guard;
    prepare_folder(request);
    LaunchSession session(request, std::make_unique<LocalRanks>(request, whole_launch(request, new_launch_id())),
                          on_progress);
    return session.run();
  }
};

}  // namespace

Launcher::~Launcher() = default;

std::unique_ptr<Launcher> local_launcher() {
  return std::make_unique<LocalLauncher>();
}

}  // namespace stepgauge::launch
