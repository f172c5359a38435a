#pragma once
// Who places the ranks: --launcher, --hosts, --hostfile.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"
#include "launch/engine.hpp"
#include "launch/launcher.hpp"

namespace stepgauge::cli {

/// What was chosen, and whether it is here.
struct LauncherChoice {
  std::optional<launch::Engine> engine;  ///< absent: local
  launch::EngineVersion version;
  std::vector<launch::EngineHost> hosts;

  /// Why this launcher cannot start the cell; empty when it can.
  std::string why_not(const Cell& cell) const;
  std::unique_ptr<launch::Launcher> make() const;
  /// For run.json: name, version, hosts.
  Json json() const;
};

struct LauncherOptions {
  std::string name = "local", hosts, hostfile;

  void add_to(CLI::App& command);
  /// Throws ConfigError for hosts that cannot be read, or hosts for a launcher that takes none.
  LauncherChoice choose() const;
};

}  // namespace stepgauge::cli
