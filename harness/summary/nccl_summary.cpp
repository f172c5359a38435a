#include "summary/nccl_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "contract/loose_json.hpp"

namespace stepgauge::summary {
namespace {

constexpr std::string_view seconds_suffix = "_s";

/// What NCCL calls the parts of its start, in words.
std::string part_text(const std::string& name) {
  static const std::map<std::string, std::string> texts{
      {"kernels", "loading kernels"},           {"alloc", "allocations"},
      {"bootstrap", "finding the other ranks"}, {"allgathers", "exchanging what the ranks know"},
      {"topo", "detecting the topology"},       {"graphs", "searching rings and trees"},
      {"connections", "connecting the ranks"}};
  const auto found = texts.find(name);
  return found == texts.end() ? name : found->second;
}

Json choice_json(const NcclChoice& choice) {
  return {{"collective", choice.collective},
          {"algorithm", choice.algorithm},
          {"protocol", choice.protocol},
          {"channels", choice.channels},
          {"count", choice.count},
          {"smallest_bytes", choice.smallest_bytes},
          {"largest_bytes", choice.largest_bytes}};
}

}  // namespace

Json nccl_init_json(const std::vector<NcclLog>& logs) {
  std::map<int, Json> ranks;
  for (const auto& log : logs) {
    for (const auto& init : log.inits) {
      auto& rank = ranks.try_emplace(init.rank, Json{{"rank", init.rank}, {"communicators", 0}}).first->second;
      const auto add = [&](const std::string& key, double seconds) { rank[key] = rank.value(key, 0.0) + seconds; };
      rank["communicators"] = rank.value("communicators", 0) + 1;
      add("total_s", init.total_s);
      for (const auto& [name, seconds] : init.parts_s) add(name + std::string(seconds_suffix), seconds);
    }
  }
  auto out = Json::array();
  for (auto& [rank, item] : ranks) out.push_back(std::move(item));
  return out;
}

Json nccl_json(const std::vector<NcclLog>& logs) {
  if (logs.empty()) return nullptr;
  Json out = Json::object();
  std::set<std::string> interfaces, files;
  for (const auto& log : logs) {
    for (const auto& choice : log.choices) out["choices"].push_back(choice_json(choice));
    if (!log.network.empty()) out["network"] = log.network;
    if (log.collective_channels) out["collective_channels"] = *log.collective_channels;
    interfaces.insert(log.interfaces.begin(), log.interfaces.end());
    files.insert(log.topology_files.begin(), log.topology_files.end());
    for (const auto& [name, value] : log.variables) out["variables"][name] = value;
  }
  if (auto start = nccl_init_text(nccl_init_json(logs)); !start.empty()) out["start"] = std::move(start);
  if (!interfaces.empty()) out["interfaces"] = interfaces;
  if (!files.empty()) out["topology_files"] = files;
  return out;
}

std::string nccl_init_text(const Json& nccl_init) {
  if (!nccl_init.is_array()) return "";
  const Json* slowest = nullptr;
  for (const auto& rank : nccl_init) {
    const auto total = loose::number(rank, "total_s");
    if (total && (slowest == nullptr || *total > *loose::number(*slowest, "total_s"))) slowest = &rank;
  }
  if (slowest == nullptr) return "";
  const auto total = *loose::number(*slowest, "total_s");
  if (total <= 0) return "";
  std::string largest;
  double seconds = 0;
  for (const auto& [key, value] : slowest->items()) {
    if (key == "total_s" || !key.ends_with(seconds_suffix) || !value.is_number() || value.get<double>() <= seconds)
      continue;
    largest = key.substr(0, key.size() - seconds_suffix.size());
    seconds = value.get<double>();
  }
  const auto where = largest.empty()
                         ? std::string()
                         : fmt::format(", about {:.0f} % of it in {}", 100 * seconds / total, part_text(largest));
  return fmt::format("NCCL took {:.3g} s to start (rank {:.0f}, the slowest){}", total,
                     loose::number(*slowest, "rank").value_or(0), where);
}

}  // namespace stepgauge::summary
