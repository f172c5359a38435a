#pragma once
// Histories by hand, for the tests of trends.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "verdict/trend.hpp"

namespace stepgauge::testing {

/// One series of one cell; every night has two launches.
class Nights {
 public:
  explicit Nights(const std::string& metric = "throughput", std::size_t count = 0, double noise = 0.005,
                  double level = 100) {
    input.suite = "unit";
    input.machine = "box";
    auto& series = input.series.emplace_back();
    series.cell = "cell-00000000";
    series.metric = find_metric(metric);
    series.unit = "u";
    series.last_outcome = "2 ok";
    add(count, level, noise);
  }

  verdict::TrendSeries& series() { return input.series[0]; }

  /// Nights about a level, with relative normal noise.
  Nights& add(std::size_t count, double level, double noise = 0.005) {
    for (std::size_t i = 0; i < count; ++i) add_night(level * std::exp(noise * normal_(random_)));
    return *this;
  }

  Nights& add_night(double value) {
    const auto n = input.nights.size();
    input.nights.push_back({run(n), day(n), fmt::format("{:040x}", n), std::nullopt});
    series().tip.push_back({value, value});
    series().reference.emplace_back();
    return *this;
  }

  /// The control build of a night.
  void control(std::size_t night, double value, const std::string& commit = "frozen") {
    series().reference[night] = {value};
    input.nights[night].reference_commit = commit;
  }

  void no_value() {
    add_night(1);
    series().tip.back().clear();
  }

  verdict::Trend judge() const { return verdict::judge_trend(input); }

  verdict::TrendInput input;

  static std::string run(std::size_t n) {
    auto time = day(n);
    std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
    return fmt::format("{}-{:08x}", time, n);
  }

 private:
  static std::string day(std::size_t n) {
    using namespace std::chrono;
    const year_month_day date(sys_days(year(2020) / 1 / 1) + days(n));
    return fmt::format("{:04}-{:02}-{:02}T02:00:00Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  }

  std::mt19937 random_{11};
  std::normal_distribution<double> normal_;
};

}  // namespace stepgauge::testing
