#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stepgauge::machine {

/// What a program said and how it ended.
struct CapturedCommand {
  int exit_code = -1;  ///< -1: it could not be started, or a signal ended it
  std::string out, error;

  /// One line on what went wrong: its last words, or why it could not be started.
  std::string problem() const;
};

/// Runs argv (looked up in PATH; no shell) with empty standard input and waits for it; each stream is kept up to
/// `max_bytes`. What has not ended after `limit` is killed; nullopt: however long it takes.
CapturedCommand run_captured(const std::vector<std::string>& argv, std::size_t max_bytes = std::size_t{256} << 20,
                             std::optional<std::chrono::milliseconds> limit = std::nullopt);

}  // namespace stepgauge::machine
