#include "summary/straggler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "contract/loose_json.hpp"

namespace stepgauge::summary {
namespace {

constexpr double always = 0.8;
constexpr int enough = 10;
constexpr double mostly_waiting = 0.5;

struct Lateness {
  int last = 0;
  double behind_ms = 0, in_collectives_ms = 0;
};

}  // namespace

std::optional<Straggler> straggler(const Json& timeline) {
  std::map<int, Lateness> ranks;
  Straggler out;
  for (const auto& collective : loose::list(timeline, "collectives")) {
    const auto rank = loose::number(collective, "last_rank");
    const auto behind = loose::number(collective, "entry_skew_ms"), longest = loose::number(collective, "longest_ms");
    if (!rank || !behind || !longest) continue;
    ++out.collectives;
    auto& one = ranks[static_cast<int>(*rank)];
    ++one.last;
    one.behind_ms += *behind;
    // Whoever comes first is in it from its entry to the end.
    one.in_collectives_ms += std::max(*longest, *behind);
  }
  if (ranks.empty()) return std::nullopt;
  const auto [rank, most] = *std::max_element(
      ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.second.last < b.second.last; });
  out.rank = rank;
  out.last = most.last;
  out.behind_ms = most.behind_ms / most.last;
  out.waiting = most.in_collectives_ms > 0 ? most.behind_ms / most.in_collectives_ms : 0;
  out.explains = out.collectives >= enough && out.last >= always * out.collectives && out.waiting >= mostly_waiting;
  return out;
}

std::string straggler_text(const Straggler& found) {
  return fmt::format("rank {} came last in {:.0f} % of the collectives, {:.3g} ms behind the first on average",
                     found.rank, 100.0 * found.last / found.collectives, found.behind_ms);
}

Json straggler_json(const Straggler& found) {
  return {{"rank", found.rank},           {"last", found.last},       {"collectives", found.collectives},
          {"behind_ms", found.behind_ms}, {"waiting", found.waiting}, {"explains", found.explains}};
}

}  // namespace stepgauge::summary
