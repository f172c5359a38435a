#pragma once
// The midpoints of a bisection: one gate folder each, with pairs of the good end and the midpoint.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/arm_pairs.hpp"
#include "cli/commands.hpp"
#include "verdict/bisect.hpp"

namespace stepgauge::cli {

/// What a midpoint is, ready to be launched; or why it cannot be.
struct Midpoint {
  std::optional<Arm> arm;
  std::string problem;
};

/// How a search gets its arms.
struct BisectArms {
  Arm good;
  std::function<Midpoint(std::size_t)> of_commit;                      ///< index into Bisect::commits
  std::function<Midpoint(const verdict::SettingSubset&)> of_settings;  ///< indices into Bisect::differences
};

/// Asks until nothing is left, the user interrupts, or an end turns out not to be measurable. Every answer is written
/// to FOLDER/bisect.json before the next question. Midpoints that were measured before are taken from their folders;
/// what they lack is made. Throws ConfigError when the suite was edited meanwhile, or when an earlier part was measured
/// on another machine.
class BisectSession {
 public:
  BisectSession(SuiteOptions suite, verdict::Bisect& bisect, BisectArms arms, bool quiet, Program& program);

  void run();

 private:
  void ask(const verdict::BisectQuestion& question);
  verdict::BisectTest measure(const Arm& arm, const std::filesystem::path& folder, std::uint64_t seed);
  void write() const;
  void tell(const std::string& line) const;

  verdict::Bisect& bisect_;
  BisectArms arms_;
  bool quiet_;
  ArmPairs pairs_;
  bool interrupted_ = false;
};

}  // namespace stepgauge::cli
