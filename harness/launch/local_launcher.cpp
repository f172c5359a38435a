#include <fmt/format.h>
#include <sys/prctl.h>

#include "launch/launch_session.hpp"
#include "launch/launcher.hpp"

namespace stepgauge::launch {

std::string trace_file_name(int rank) {
  return fmt::format("rank{}.trace.json.gz", rank);
}

std::string nccl_log_name(int rank) {
  return fmt::format("rank{}.nccl.log", rank);
}

std::string rank_cache_name(int rank) {
  return fmt::format("rank{}", rank);
}

std::string memory_history_name(int rank) {
  return fmt::format("rank{}.memory.pickle", rank);
}

namespace {

/// Makes this process the one that orphaned descendants fall to; undone at the end.
class SubreaperGuard {
 public:
  SubreaperGuard() noexcept {
    ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~SubreaperGuard() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }
  SubreaperGuard(const SubreaperGuard&) = delete;
  SubreaperGuard& operator=(const SubreaperGuard&) = delete;

 private:
  int before_ = 0;
};

class LocalLauncher final : public Launcher {
 public:
  LaunchOutcome launch(const LaunchRequest& request, const std::function<void(const Progress&)>& on_progress) override {
    const SubreaperGuard guard;
    LaunchSession session(request, on_progress);
    return session.run();
  }
};

}  // namespace

Launcher::~Launcher() = default;

std::unique_ptr<Launcher> local_launcher() {
  return std::make_unique<LocalLauncher>();
}

}  // namespace stepgauge::launch
