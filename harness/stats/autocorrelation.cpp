#include "stats/autocorrelation.hpp"

#include <cstddef>

#include "stats/summary.hpp"

namespace stepgauge::stats {

std::optional<Autocorrelation> autocorrelation(std::span<const double> values) {
  const auto centre = mean(values);
  const auto spread = variance(values);
  if (values.size() < 3 || !spread || *spread == 0.0) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  double products = 0.0;
  for (std::size_t i = 1; i < values.size(); ++i) products += (values[i - 1] - *centre) * (values[i] - *centre);
  const double r1 = products / (*spread * (n - 1.0));
  const double inflation = (1.0 + r1) / (1.0 - r1);
  return Autocorrelation{r1, inflation, n / inflation};
}

}  // namespace stepgauge::stats
