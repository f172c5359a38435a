#include "summary/merge_communication.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "contract/loose_json.hpp"

namespace stepgauge::summary {
namespace {

using loose::list;
using loose::number;
using loose::part;

Json all_pairs(const std::vector<RankRecord>& ranks) {
  std::set<std::pair<double, double>> seen;
  auto out = Json::array();
  for (const auto& rank : ranks) {
    for (const auto& pair : list(part(rank, "communication"), "pairs")) {
      const auto a = number(pair, "a"), b = number(pair, "b");
      if (a && b && seen.insert(std::minmax(*a, *b)).second) out.push_back(pair);
    }
  }
  return out;
}

}  // namespace

Json merge_communication(const std::vector<RankRecord>& ranks) {
  if (ranks.empty() || !part(ranks.front(), "communication").is_object()) return nullptr;
  auto out = part(ranks.front(), "communication");
  for (const char* key : {"bytes_per_step_sent", "collectives_per_step", "error_state_mib"}) {
    for (const auto& rank : ranks) {
      const auto value = number(part(rank, "communication"), key);
      const auto known = number(out, key);
      if (value && (!known || *value > *known)) out[key] = part(part(rank, "communication"), key);
    }
  }
  if (auto pairs = all_pairs(ranks); !pairs.empty()) out["pairs"] = std::move(pairs);
  return out;
}

}  // namespace stepgauge::summary
