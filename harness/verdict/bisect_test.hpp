#pragma once
// The question asked at each midpoint of a bisection: is the metric different from the good end's? The gate's paired
// test, on pairs of the good end (base) and the midpoint (head).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verdict/bisect_search.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict {

struct BisectPolicy {
  std::size_t first_pairs = 10;     ///< then doubled while the answer is unknown ...
  std::size_t most_pairs = 40;      ///< ... up to these
  std::optional<double> tolerance;  ///< in place of the metric's own tolerance and floor: a share, or points
  std::uint64_t seed = 0;           ///< of the order within pairs

  /// How often the pairs may be looked at: the level of the test is shared by these looks.
  std::size_t looks() const;
};

enum class BisectDirection { worse, better };
std::string_view to_string(BisectDirection direction);

struct BisectTest {
  BisectAnswer answer = BisectAnswer::unknown;
  BisectDirection direction = BisectDirection::worse;
  std::string reason;
  std::size_t pairs = 0;
  std::optional<double> change, ci_lower, ci_upper;  ///< of head against base, 95 % interval
  std::optional<double> p;                           ///< of "no more than a quarter of the threshold", in the direction
  std::optional<double> bound;                       ///< one-sided bound of the change in the direction
};

/// The gate's policy for the pairs of a midpoint: all of them are of the screen.
GatePolicy gate_policy(const BisectPolicy& policy);

/// `metric`: of the catalogue, with a direction; or "launches", whether they fail. `direction`: where the bad end lies;
/// nullopt: where the mean does. d is the difference of a pair in that direction, theta the threshold, L the looks.
/// - different: "d <= theta / 4" is rejected at 0.05 / L by the paired t and by the sign-flip test, and mean d is at
///   least 0.75 theta. "launches": head fails in a third of them and base never.
/// - same: the one-sided bound of d, at 1 - 0.10 / L, is below 0.75 theta. "launches": none fails.
/// - No spread in either arm: d > theta decides.
/// - skipped: not in both arms, or no launch of head has a value. Otherwise unknown.
BisectTest bisect_test(const GateCell& cell, const std::string& metric, std::optional<BisectDirection> direction,
                       const BisectPolicy& policy);

}  // namespace stepgauge::verdict
