#pragma once
// What `exclude` and `overrides.match` select: a map axis -> value or list of values, all axes to be met.
#include <functional>
#include <string>
#include <vector>

#include "config/axes.hpp"
#include "contract/cell.hpp"

namespace stepgauge::config {

class Pattern {
 public:
  /// Reads the map. Text may hold globs; ddp, compile, optimizer, env and workload maps match on the keys they name.
  /// Throws ConfigError for an unknown axis or a value that no cell can have.
  static Pattern read(const Node& node, const std::string& where, const std::vector<std::string>& workers);

  bool matches(const Cell& cell) const;
  const Mark& mark() const { return mark_; }

  /// The error for a pattern that selects none of `cells`: points at the axis that no cell meets, where there is one.
  [[noreturn]] void fail_unmatched(const std::vector<Cell>& cells) const;

 private:
  using Test = std::function<bool(const Cell&)>;
  struct Condition {
    Axis axis;
    Mark mark;
    std::string text;  ///< as written, for messages
    std::vector<Test> any_of;

    bool met(const Cell& cell) const;
  };

  static Test read_test(Axis axis, const Node& node, const std::string& where, const std::vector<std::string>& workers);

  std::string where_;
  Mark mark_;
  std::vector<Condition> conditions_;
};

}  // namespace stepgauge::config
