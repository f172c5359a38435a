#include <stdexcept>

#include "workloads/llama/llama.hpp"
#include "workloads/resnet/resnet.hpp"
#include "workloads/workload.hpp"

namespace stepgauge::workloads {
namespace {

using Maker = std::unique_ptr<Workload> (*)(const nlohmann::json& sizes);

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> table{{"llama", &make_llama}, {"resnet", &make_resnet}};
  return table;
}

}  // namespace

std::unique_ptr<Workload> make_workload(const std::string& family, const nlohmann::json& sizes) {
  const auto it = makers().find(family);
  if (it != makers().end()) return it->second(sizes);
  std::string known;
  for (const auto& [name, maker] : makers()) known += (known.empty() ? "" : ", ") + name;
  throw std::invalid_argument("no workload family '" + family + "' (known: " + known + ")");
}

}  // namespace stepgauge::workloads
