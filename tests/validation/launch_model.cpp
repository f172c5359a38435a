#include "launch_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepgauge::validation {

LaunchModel launch_model(const Json& value) {
  LaunchModel out;
  const std::map<std::string, double*> numbers{{"s_d", &out.s_d},
                                               {"s_d_log_sd", &out.s_d_log_sd},
                                               {"sigma_w", &out.sigma_w},
                                               {"r1", &out.r1},
                                               {"steps", &out.steps},
                                               {"shock_share", &out.shock_share},
                                               {"shock_size", &out.shock_size},
                                               {"random_walk", &out.random_walk},
                                               {"ramp", &out.ramp},
                                               {"slow_share", &out.slow_share},
                                               {"slow_size", &out.slow_size},
                                               {"modes_apart", &out.modes_apart},
                                               {"head_spread", &out.head_spread},
                                               {"correlation", &out.correlation},
                                               {"grid", &out.grid},
                                               {"tolerance", &out.tolerance}};
  for (const auto& [key, item] : value.items()) {
    if (key == "cells") {
      out.cells = require<std::size_t>(value, "cells", "model");
    } else if (key == "metrics") {
      out.metrics = require<std::vector<std::string>>(value, "metrics", "model");
    } else if (const auto found = numbers.find(key); found != numbers.end()) {
      *found->second = require<double>(value, key.c_str(), "model");
    } else {
      throw ContractError("model: unknown setting \"" + key + "\"");
    }
  }
  return out;
}

double mean_of_steps_variance(const LaunchModel& model) {
  const double r = model.r1, m = model.steps;
  const double factor = (1 + r) / (1 - r) - 2 * r * (1 - std::pow(r, m)) / (m * (1 - r) * (1 - r));
  return model.sigma_w * model.sigma_w / m * factor;
}

Machine::Machine(const LaunchModel& model, std::uint64_t seed)
    : model_(model), random_(seed), step_variance_(mean_of_steps_variance(model)) {
  for (std::size_t row = 0; row < model.cells * model.metrics.size(); ++row)
    s_d_.push_back(model.s_d * std::exp(model.s_d_log_sd * normal_(random_)));
}

std::vector<double> Machine::launch(std::size_t cell, bool head) {
  drift_ += model_.ramp + model_.random_walk * normal_(random_);
  const double common = normal_(random_);
  const bool slow = uniform_(random_) < model_.slow_share;
  const bool mode = uniform_(random_) < 0.5;
  // Both arms together keep the variance of a pair's difference.
  const double base_part = 2 / (1 + model_.head_spread * model_.head_spread);
  const double part = head ? base_part * model_.head_spread * model_.head_spread : base_part;
  std::vector<double> out;
  for (std::size_t metric = 0; metric < model_.metrics.size(); ++metric) {
    const double variance = 0.5 * std::pow(s_d_[cell * model_.metrics.size() + metric], 2);
    const double steps = std::min(step_variance_, variance);  // a row can be quieter than its steps are said to be
    const double own = normal_(random_);
    const double launch = std::sqrt(model_.correlation) * common + std::sqrt(1 - model_.correlation) * own;
    double value = drift_ + std::sqrt(part * (variance - steps)) * launch + std::sqrt(part * steps) * normal_(random_);
    if (slow) value += model_.slow_size;
    if (mode) value += model_.modes_apart;
    // A shock hits a pair, so that half as many launches would be too few: it is drawn with one of its launches.
    if (head && uniform_(random_) < model_.shock_share)
      value += uniform_(random_) < 0.5 ? model_.shock_size : -model_.shock_size;
    out.push_back(model_.grid > 0 ? model_.grid * std::round(value / model_.grid) : value);
  }
  return out;
}

}  // namespace stepgauge::validation
