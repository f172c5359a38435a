// The arithmetic of parity: numbers in, a judgement out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "worker/parity/parity.hpp"

namespace stepgauge::worker {
namespace {

constexpr double multiple = 3;  ///< of the eager program's own distance to the reference
// A large step amplifies the rounding of the one before it, in eager too. How large is told by how far it moves the
// loss: these shares of that movement (of it relative to the first loss, at most 1) are granted on top.
constexpr double loss_per_movement = 0.05;
constexpr double update_per_movement = 0.1;
// A parameter whose gradient is this small beside the largest one is noise in any precision.
constexpr double negligible = 1e-4;

/// Floors by precision: what a different order of the same operations may do. Losses of a few steps are means over
/// thousands of terms; a gradient is a sum of rounded products, and its small elements are all rounding.
Allowance floor_of(const std::string& precision) {
  static const std::map<std::string, Allowance> floors{
      {"fp32", {1e-4, 1e-2, 2e-2}},      {"tf32", {2e-3, 5e-2, 0.1}}, {"bf16", {1e-2, 0.1, 0.3}},
      {"bf16_pure", {1e-2, 0.1, 0.3}},   {"fp16", {5e-3, 5e-2, 0.2}}, {"fp8", {2e-2, 0.2, 0.4}},
      {"fp8_delayed", {2e-2, 0.2, 0.4}},
  };
  const auto found = floors.find(precision);
  return found != floors.end() ? found->second : floors.at("fp8");
}

double relative(double value, double reference) {
  return std::abs(value - reference) / std::max(std::abs(reference), 1e-12);
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// |value - reference| / |reference| in the Euclidean norm.
double distance(const std::vector<double>& value, const std::vector<double>& reference) {
  double sum = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) sum += (value[i] - reference[i]) * (value[i] - reference[i]);
  return std::sqrt(sum) / std::max(norm(reference), 1e-30);
}

using Part = std::vector<double> Trajectory::Sample::*;

/// Three times the spread and the floor. Where the spread itself overflows, nothing can be told: finite, since it is
/// written, and beyond any error that is.
double allowance(double spread, double floor) {
  constexpr double anything = 1e30;
  return std::isfinite(spread) ? multiple * spread + floor : anything;
}

struct Worst {
  std::string name;
  double error = 0, allowed = 0;
  std::int64_t compared = 0, telling = 0;
  bool agrees = true;
};

/// The parameter that is furthest beyond (or nearest to) what it is allowed.
Worst worst_sample(const Trajectory& value, const Trajectory& spread, const Trajectory& reference, Part part,
                   double floor) {
  double largest = 0;
  for (const auto& sample : reference.samples)
    largest = std::max(largest, norm(sample.*part) / std::sqrt(static_cast<double>((sample.*part).size())));
  Worst worst;
  double furthest = -1;
  for (std::size_t i = 0; i < reference.samples.size(); ++i) {
    const auto& expected = reference.samples[i].*part;
    if (norm(expected) <= negligible * largest * std::sqrt(static_cast<double>(expected.size()))) continue;
    const double error = distance(value.samples[i].*part, expected);
    const double allowed = allowance(distance(spread.samples[i].*part, expected), floor);
    ++worst.compared;
    if (allowed < 1) ++worst.telling;  // a gradient or update that is not there is at a distance of 1
    const bool finite = std::isfinite(error);
    const double beyond = finite ? error / allowed : HUGE_VAL;
    if (beyond <= furthest) continue;
    furthest = beyond;
    worst.name = reference.samples[i].name;
    worst.error = finite ? error : 1e30;
    worst.allowed = allowed;
    worst.agrees = beyond <= 1;
  }
  return worst;
}

Json worst_json(const Worst& worst) {
  return {{"compared", worst.compared},
          {"telling", worst.telling},
          {"worst", worst.name},
          {"error", worst.error},
          {"allowed", worst.allowed}};
}

Json numbers(const std::vector<double>& values) {
  auto out = Json::array();
  for (const double value : values) out.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  return out;
}

}  // namespace

Json compare_trajectories(const Trajectory& value, const Trajectory& spread, const Trajectory& reference,
                          const std::string& precision) {
  const auto floor = floor_of(precision);
  std::string first;
  double loss_error = 0, loss_allowed = floor.loss;
  for (std::size_t i = 0; i < reference.losses.size(); ++i) {
    const double expected = reference.losses[i];
    double error = relative(value.losses[i], expected);
    if (!std::isfinite(error)) error = 1e30;
    const double moved = relative(reference.losses[0], expected);
    const double allowed = allowance(relative(spread.losses[i], expected), floor.loss + loss_per_movement * moved);
    if (error / allowed > loss_error / loss_allowed || i == 0) {
      loss_error = error;
      loss_allowed = allowed;
    }
    if (error > allowed && first.empty()) {
      first = fmt::format("step {}: loss {:.6g}, the reference has {:.6g} (relative difference {:.2g}, allowed {:.2g})",
                          i, value.losses[i], expected, error, allowed);
    }
  }
  const auto gradients = worst_sample(value, spread, reference, &Trajectory::Sample::gradient, floor.gradient);
  double movement = 0;
  for (const double loss : reference.losses) movement = std::max(movement, relative(loss, reference.losses[0]));
  const auto updates = worst_sample(value, spread, reference, &Trajectory::Sample::update,
                                    floor.update + update_per_movement * std::min(1.0, movement));
  double norm_error = relative(value.gradient_norm, reference.gradient_norm);
  if (!std::isfinite(norm_error)) norm_error = 1e30;
  const double norm_allowed = allowance(relative(spread.gradient_norm, reference.gradient_norm), floor.gradient);
  const auto describe = [](const char* what, const Worst& worst) {
    return fmt::format("{} of parameter {} (relative difference {:.2g}, allowed {:.2g})", what, worst.name, worst.error,
                       worst.allowed);
  };
  if (!gradients.agrees && (first.empty() || first.rfind("step 0", 0) != 0)) {
    first = describe("step 0: gradient", gradients);
  } else if (first.empty() && norm_error > norm_allowed) {
    first = fmt::format(
        "step 0: gradient norm {:.6g}, the reference has {:.6g} (relative difference {:.2g}, allowed {:.2g})",
        value.gradient_norm, reference.gradient_norm, norm_error, norm_allowed);
  } else if (first.empty() && !updates.agrees) {
    first = describe(fmt::format("after step {}: update", reference.losses.size() - 1).c_str(), updates);
  }
  Json out{{"steps", reference.losses.size()},
           {"loss",
            {{"values", numbers(value.losses)},
             {"reference", numbers(reference.losses)},
             {"error", loss_error},
             {"allowed", loss_allowed}}},
           {"gradient_norm",
            {{"value", std::isfinite(value.gradient_norm) ? Json(value.gradient_norm) : Json(nullptr)},
             {"reference", reference.gradient_norm},
             {"error", norm_error},
             {"allowed", norm_allowed}}},
           {"gradients", worst_json(gradients)},
           {"parameters", worst_json(updates)},
           {"agrees", first.empty()}};
  if (!first.empty()) out["first_difference"] = first;
  return out;
}

}  // namespace stepgauge::worker
