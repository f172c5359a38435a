#include "trace/analysis.hpp"

#include <algorithm>
#include <utility>

namespace stepgauge::trace {

bool LaunchTraces::reliable() const {
  return std::all_of(doubtful.begin(), doubtful.end(), [](const auto& reasons) { return reasons.empty(); });
}

LaunchTraces analyse(std::string source, std::vector<RankTimeline> ranks) {
  LaunchTraces out;
  out.source = std::move(source);
  out.ranks = std::move(ranks);
  for (auto& timeline : out.ranks) out.excluded.push_back(sanitize(timeline));
  if (out.ranks.size() > 1) out.alignment = align(out.ranks);
  if (out.alignment) trace::apply(*out.alignment, out.ranks);
  for (std::size_t i = 0; i < out.ranks.size(); ++i) {
    out.breakdowns.push_back(break_down(out.ranks[i]));
    out.doubtful.push_back(unreliable_because(out.ranks[i], out.breakdowns[i], out.excluded[i]));
  }
  return out;
}

}  // namespace stepgauge::trace
