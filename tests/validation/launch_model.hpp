#pragma once
// Launch values of a machine that is known by construction (statistics.md 4, level 2): the nested model of launches and
// steps, and what spoils real ones.
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge::validation {

/// Spreads, sizes and drifts are of ln values: 0.01 is about 1 %.
struct LaunchModel {
  std::size_t cells = 120;
  std::vector<std::string> metrics{"throughput"};
  double s_d = 0.01;          ///< median over the rows of the standard deviation of a pair's difference
  double s_d_log_sd = 0.5;    ///< rows differ: the standard deviation of ln s_d
  double sigma_w = 0.01;      ///< of one step
  double r1 = 0.5;            ///< lag-1 correlation of steps, AR(1)
  double steps = 100;         ///< m
  double shock_share = 0.03;  ///< of pairs of a row, by shock_size up or down
  double shock_size = 0.05;
  double random_walk = 0;  ///< of the machine, per launch
  double ramp = 0;         ///< the same, steady
  double slow_share = 0;   ///< of launches, by slow_size
  double slow_size = 0;
  double modes_apart = 0;   ///< a launch is in one of two modes by chance
  double head_spread = 1;   ///< standard deviation of head's launches over base's
  double correlation = 0;   ///< between the metrics of a launch
  double grid = 0;          ///< values come in steps of this size, as memory does; 0: they do not
  double tolerance = 0.02;  ///< of every row; no floor
};

/// Unknown names are refused: a setting that does nothing would be published as one that does no harm. Throws
/// ContractError.
LaunchModel launch_model(const Json& value);

/// Variance of the mean of m steps of an AR(1) process: sigma_w^2 / m (1 + 2 sum of (1 - k / m) r1^k).
double mean_of_steps_variance(const LaunchModel& model);

/// One machine: its rows have spreads of their own, its drift goes on from launch to launch.
class Machine {
 public:
  Machine(const LaunchModel& model, std::uint64_t seed);

  /// ln of what each metric of the next launch of a cell loses, positive is worse; the true level is 0.
  std::vector<double> launch(std::size_t cell, bool head);
  /// Standard deviation of a pair's difference that a row was given.
  double s_d(std::size_t row) const { return s_d_.at(row); }

 private:
  const LaunchModel model_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double step_variance_, drift_ = 0;
  std::vector<double> s_d_;
};

}  // namespace stepgauge::validation
