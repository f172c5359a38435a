#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../support/temporary_folder.hpp"
#include "build_results.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::store {

/// A folder of its own, removed at the end of the test.
class Scratch : public ::testing::Test {
  test::TemporaryFolder temporary_;

 protected:
  const std::filesystem::path folder_ = temporary_.path();
};

inline void write(const std::filesystem::path& path, const std::string& text, bool append = false) {
  std::ofstream(path, append ? std::ios::app : std::ios::trunc) << text;
}

inline std::string read(const std::filesystem::path& path) {
  return read_text_file(path);
}

inline RunInfo run_info(const std::vector<Cell>& cells) {
  RunInfo info;
  info.suite = "unit";
  info.suite_path = "configs/unit.yaml";
  info.suite_hash = "0123abcd";
  info.command = {"stepgauge", "run", "configs/unit.yaml"};
  info.created_at = "2026-11-29T10:00:00Z";
  info.environment = {{"kernel", "6.1"}, {"os", "Debian 12"}};
  info.fingerprint = testing::cpu_machine();
  info.cells = cells;
  info.skipped = {{"big-00000001", "00000001", Status::unsupported, "needs 8 GPUs"}};
  info.workers = {{"peer", {"python3", "peer.py"}}};
  return info;
}

/// what() of the exception that `action` throws; "" when it throws none.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace stepgauge::store
