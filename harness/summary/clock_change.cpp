#include "summary/clock_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stats/summary.hpp"

namespace stepgauge::summary {

std::map<int, double> measured_clocks(const LaunchRecord& record) {
  std::map<int, double> out;
  const auto health = record.detail.find("health");
  if (health == record.detail.end() || !health->contains("measured") || !health->at("measured").is_object()) return out;
  const double from = health->at("measured").at("from_s"), to = health->at("measured").at("to_s");
  for (const auto& device : health->at("devices")) {
    const auto& samples = device.at("samples");
    if (!samples.contains("sm_mhz")) continue;
    std::vector<double> clocks;
    for (std::size_t i = 0; i < samples.at("t_s").size(); ++i) {
      const double at = samples.at("t_s")[i];
      const auto& clock = samples.at("sm_mhz")[i];
      if (from <= at && at <= to && clock.is_number()) clocks.push_back(clock);
    }
    if (const auto median = stats::median(clocks)) out[device.at("index")] = *median;
  }
  return out;
}

std::string changed_clocks(const LaunchRecord& base, const LaunchRecord& head) {
  const auto in_base = measured_clocks(base), in_head = measured_clocks(head);
  for (const auto& [device, clock] : in_base) {
    const auto other = in_head.find(device);
    if (other == in_head.end()) continue;
    const auto [lower, upper] = std::minmax(clock, other->second);
    if (upper > lower * (1 + clock_change))
      return fmt::format("GPU {}: SM clock {:.0f} MHz in base, {:.0f} MHz in head", device, clock, other->second);
  }
  return "";
}

}  // namespace stepgauge::summary
