#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// The spread between neighbours in time (von Neumann, Kent, Bellinson and Hart 1941): a slow drift of the level, which
// pairs of neighbours cancel, is not in it, and the plain standard deviation beside it shows how much of that there is.
namespace stepgauge::stats {

struct Successive {
  std::size_t differences;  // of neighbours, over all sessions
  double sd;                // of one difference x_i+1 - x_i: sqrt of their mean square; 0 exactly when all are equal
  double df;                // of sd^2, for independent normal values: 2 M^2 / sum (3 n_i - 4), M differences
  double plain_sd;          // between the values of a session, pooled, n - 1
  std::optional<double> ratio;  // sd^2 / (2 plain_sd^2): 1 for independent values, less when they drift, more when
                                // they alternate; nullopt without spread
  std::optional<double> z;      // of the ratio, standard normal for independent values; sessions of 4 and more, summed
                                // over sqrt of their number. Below -1.645: drift; nullopt when there is none
};

// Values in order of time, one vector a session; nothing is compared across sessions. nullopt when no session has two
// values. Throws std::invalid_argument on a value that is not finite.
std::optional<Successive> successive(std::span<const std::vector<double>> sessions);

}  // namespace stepgauge::stats
