// Shows a workload to test_against_reference.py, as JSON on standard output.
//   describe_workload shapes FAMILY SIZES        parameters and buffers in order, [name, shape] each, from
//   the meta device describe_workload evaluate FAMILY SIZES FILE loss, norm of every gradient and sum of
//   every buffer after one forward and
//                                                backward pass; FILE is torch.save of {"state": {name:
//                                                tensor}, "input", "target"}
#include <torch/torch.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "workloads/workload.hpp"

namespace {

using nlohmann::json;
using stepgauge::workloads::Workload;

template <class Items>
json names_and_shapes(const Items& items) {
  json list = json::array();
  for (const auto& item : items) list.push_back({item.key(), item.value().sizes().vec()});
  return list;
}

json shapes(const Workload& workload) {
  const auto model = workload.build(torch::TensorOptions().device(torch::kMeta), {});
  return {{"parameters", names_and_shapes(model->named_parameters())},
          {"buffers", names_and_shapes(model->named_buffers())}};
}

torch::IValue read_pickle(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return torch::pickle_load({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

json evaluate(const Workload& workload, const std::string& path) {
  const auto content = read_pickle(path).toGenericDict();
  const auto state = content.at("state").toGenericDict();
  const auto model = workload.build(torch::kFloat, at::make_generator<at::CPUGeneratorImpl>(0));
  {
    torch::NoGradGuard no_grad;
    const auto load = [&](const std::string& name, torch::Tensor& tensor) { tensor.copy_(state.at(name).toTensor()); };
    for (auto& item : model->named_parameters()) load(item.key(), item.value());
    for (auto& item : model->named_buffers()) load(item.key(), item.value());
  }
  const auto loss = model->loss({content.at("input").toTensor(), content.at("target").toTensor()});
  loss.backward();
  json gradients, buffers = json::object();
  for (const auto& item : model->named_parameters()) {
    gradients[item.key()] = item.value().grad().norm().item<double>();
  }
  for (const auto& item : model->named_buffers()) {
    buffers[item.key()] = item.value().sum(torch::kDouble).item<double>();
  }
  return {{"loss", loss.item<double>()}, {"gradients", gradients}, {"buffers", buffers}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    torch::set_num_threads(1);
    if (args.size() == 3 && args[0] == "shapes") {
      std::cout << shapes(*stepgauge::workloads::make_workload(args[1], json::parse(args[2]))) << "\n";
      return 0;
    }
    if (args.size() == 4 && args[0] == "evaluate") {
      std::cout << evaluate(*stepgauge::workloads::make_workload(args[1], json::parse(args[2])), args[3]) << "\n";
      return 0;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  std::cerr << "usage: describe_workload shapes FAMILY SIZES | evaluate FAMILY SIZES FILE\n";
  return 2;
}
