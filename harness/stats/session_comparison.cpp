#include "stats/session_comparison.hpp"

#include <cmath>

#include "stats/summary.hpp"
#include "stats/variance_components.hpp"

namespace stepgauge::stats {

std::optional<TwoSample> compare_to_sessions(std::span<const std::vector<double>> base_sessions,
                                             std::span<const double> head, Scale scale) {
  std::vector<double> all;
  std::vector<Session> nested;
  double squared_sizes = 0.0;
  for (const auto& values : base_sessions) {
    if (values.empty()) return std::nullopt;
    auto& session = nested.emplace_back();
    for (const double value : values) {
      all.push_back(value);
      session.push_back({.value = scale == Scale::ratio && value > 0.0 ? std::log(value) : value});
    }
    squared_sizes += static_cast<double>(values.size()) * static_cast<double>(values.size());
  }
  const auto plain = compare(all, head, scale);
  if (!plain || nested.size() < 2) return std::nullopt;
  const auto total = static_cast<double>(all.size());
  const auto components = variance_components(nested);
  double between = components.session.value_or(0.0);
  if (!components.launch) {
    std::vector<double> single;
    for (const auto& session : nested) single.push_back(session.front().value);
    between = variance(single).value_or(0.0);
  }
  const double squared_error = between * (1.0 + squared_sizes / (total * total)) +
                               components.launch.value_or(0.0) * (1.0 / static_cast<double>(head.size()) + 1.0 / total);
  if (squared_error == 0.0) return plain;
  TwoSample out = *plain;
  out.exact = false;
  out.standard_error = std::sqrt(squared_error);
  out.df = static_cast<double>(nested.size() - 1);
  return out;
}

}  // namespace stepgauge::stats
