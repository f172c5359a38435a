#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "launch/launcher.hpp"
#include "launch/process_tree.hpp"

namespace stepgauge::launch::test {

using TempFolder = stepgauge::test::TemporaryFolder;

inline std::string stub_path() {
  const char* folder = std::getenv("STEPGAUGE_BIN_DIR");
  return std::string(folder == nullptr ? "build/bin" : folder) + "/stub-worker";
}

inline Cell small_cell(int ranks) {
  Cell cell;
  cell.suite = "tests";
  cell.worker = "stub";
  cell.device = "cpu";
  cell.workload = {"resnet18", "resnet", {{"image", 32}, {"classes", 10}}};
  cell.batch = 8;
  cell.ddp.ranks = ranks;
  cell.measure.steps = 20;
  cell.limits = {60, 30, 1};
  assign_identity(cell);
  return cell;
}

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Launches the stub in a folder of its own and checks after every launch that nothing of it is left.
class LaunchTest : public ::testing::Test {
 protected:
  LaunchOutcome launch_stub(const Cell& cell, std::vector<std::string> arguments, int interrupt_fd = -1,
                            const std::function<void(const Progress&)>& on_progress = {}) {
    arguments.insert(arguments.begin(), stub_path());
    return launch(cell, std::move(arguments), interrupt_fd, on_progress);
  }

  LaunchOutcome launch(const Cell& cell, std::vector<std::string> command, int interrupt_fd = -1,
                       const std::function<void(const Progress&)>& on_progress = {}) {
    LaunchRequest request;
    request.cell = cell;
    request.launch = 4;
    request.command = std::move(command);
    request.folder = folder() / "launch4";
    request.interrupt_fd = interrupt_fd;
    auto outcome = local_launcher()->launch(request, on_progress);
    expect_nothing_left();
    return outcome;
  }

  const std::filesystem::path& folder() const { return folder_.path(); }

  /// No child of this process, and nobody whose environment names this folder.
  void expect_nothing_left() const {
    const auto left = own_descendants({});
    EXPECT_TRUE(left.empty());
    for (const auto& process : left) {  // so that the next test starts clean
      send_signal(process.id, SIGKILL);
      ::waitpid(process.id.pid, nullptr, 0);
    }
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || pid == ::getpid()) continue;
      const auto cell = variable_of(pid, "STEPGAUGE_CELL");
      EXPECT_FALSE(cell && cell->starts_with(folder().string())) << "still running: " << pid;
    }
  }

 private:
  TempFolder folder_;
};

}  // namespace stepgauge::launch::test
