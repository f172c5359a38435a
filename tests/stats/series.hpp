#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace stepgauge::test {

// Normal AR(1) series around level with this standard deviation and lag-1 correlation; the same for the same
// seed.
inline std::vector<double> noise(std::size_t n, double level, double sd, double r1, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  double state = normal(engine);
  std::vector<double> values(n);
  for (double& value : values) {
    value = level + sd * state;
    state = r1 * state + std::sqrt(1.0 - r1 * r1) * normal(engine);
  }
  return values;
}

// Raises the values from index on by a fraction of themselves.
inline void raise_from(std::vector<double>& values, std::size_t index, double fraction) {
  for (std::size_t i = index; i < values.size(); ++i) values[i] *= 1.0 + fraction;
}

// A launch whose warm-up ends with the fourth step: 5 s, 60 s, 1 s, then 0.1 s, in ms.
inline std::vector<double> slow_start(std::size_t settled_steps) {
  std::vector<double> step_ms{5000.0, 60000.0, 1000.0};
  step_ms.insert(step_ms.end(), settled_steps, 100.0);
  return step_ms;
}

}  // namespace stepgauge::test
