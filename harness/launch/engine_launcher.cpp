#include <stdexcept>

#include "launch/engine_ranks.hpp"
#include "launch/launch_session.hpp"
#include "launch/launcher.hpp"
#include "launch/subreaper.hpp"

namespace stepgauge::launch {
namespace {

class EngineLauncher final : public Launcher {
 public:
  explicit EngineLauncher(EngineOptions options) : options_(std::move(options)) {}

  LaunchOutcome launch(const LaunchRequest& request, const std::function<void(const Progress&)>& on_progress) override {
    if (request.container) throw std::invalid_argument("a worker in a container is placed by the local launcher alone");
    const SubreaperGuard guard;
    prepare_folder(request);
    LaunchSession session(request, std::make_unique<EngineRanks>(request, options_, new_launch_id()), on_progress);
    return session.run();
  }

 private:
  EngineOptions options_;
};

}  // namespace

std::unique_ptr<Launcher> engine_launcher(EngineOptions options) {
  return std::make_unique<EngineLauncher>(std::move(options));
}

}  // namespace stepgauge::launch
