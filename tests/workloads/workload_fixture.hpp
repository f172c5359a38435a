#pragma once
// What the workload tests share: sizes out of workload.json, small models, training for a few steps.
#include <torch/torch.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "workloads/workload.hpp"

namespace stepgauge::workloads::testing {

inline nlohmann::json workload_json(const std::string& family) {
  const char* root = std::getenv("STEPGAUGE_SOURCE_DIR");
  const std::string path = std::string(root ? root : ".") + "/workloads/" + family + "/workload.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(file);
}

/// Defaults of the family, then the preset (if named), then `overrides`: what the CLI puts into a cell.
inline nlohmann::json sizes_of(const std::string& family, const std::string& preset,
                               const nlohmann::json& overrides = nlohmann::json::object()) {
  const auto description = workload_json(family);
  nlohmann::json sizes = nlohmann::json::object();
  for (const auto& [name, size] : description.at("sizes").items()) {
    if (size.contains("default")) sizes[name] = size.at("default");
  }
  if (!preset.empty()) sizes.update(description.at("presets").at(preset));
  sizes.update(overrides);
  return sizes;
}

inline nlohmann::json small_resnet(int64_t depth) {
  return sizes_of("resnet", "", {{"depth", depth}, {"width", 8}, {"classes", 5}, {"image", 64}});
}

inline nlohmann::json small_llama() {
  return sizes_of("llama", "llama.tiny", {{"sequence", 16}});
}

inline std::shared_ptr<Model> build(const Workload& workload, torch::Dtype dtype, uint64_t seed) {
  torch::set_num_threads(1);
  return workload.build(torch::TensorOptions().device(torch::kCPU).dtype(dtype),
                        at::make_generator<at::CPUGeneratorImpl>(seed));
}

inline Batch batch_of(const Workload& workload, int64_t batch, torch::Dtype dtype, uint64_t seed) {
  return workload.make_batch(batch, torch::kCPU, dtype, at::make_generator<at::CPUGeneratorImpl>(seed));
}

/// Losses of `steps` SGD steps on one batch of four.
inline std::vector<double> train(const Workload& workload, torch::Dtype dtype, uint64_t seed, int steps, double rate) {
  const auto model = build(workload, dtype, seed);
  const auto batch = batch_of(workload, 4, dtype, seed + 1);
  torch::optim::SGD optimizer(model->parameters(), rate);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const auto loss = model->loss(batch);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

}  // namespace stepgauge::workloads::testing
