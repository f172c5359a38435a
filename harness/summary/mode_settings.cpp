#include "summary/mode_settings.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "contract/loose_json.hpp"
#include "contract/plural.hpp"
#include "trace/breakdown.hpp"

namespace stepgauge::summary {
namespace {

using loose::number;
using loose::part;
using loose::text;

/// Launches of CUDA graphs in the traced steps: work of one launch shares its correlation. Kineto does not say which
/// node of a graph a kernel was, so the host's calls are asked too.
std::size_t graph_launches(const trace::RankTimeline& timeline) {
  if (timeline.steps.empty()) return 0;
  const auto begin = timeline.steps.front().time.begin, end = timeline.steps.back().time.end;
  std::set<std::uint32_t> graph_calls;
  for (const auto& call : timeline.calls) {
    if (call.kind != trace::CallKind::op && trace::is_graph_launch(timeline.names.at(call.name)))
      graph_calls.insert(call.correlation);
  }
  std::set<std::uint32_t> launches;
  for (const auto& activity : timeline.activities) {
    const bool of_graph = activity.graph_node != 0 || graph_calls.count(activity.correlation) != 0;
    if (of_graph && activity.time.begin >= begin && activity.time.begin < end) launches.insert(activity.correlation);
  }
  return launches.size();
}

/// Nothing at all was compiled, as far as the rank says.
bool compiled_nothing(const RankRecord& rank) {
  const auto& compile = part(rank, "compile");
  return number(compile, "captures") == 0.0 && number(compile, "graph_nodes") == 0.0;
}

Setting judge_compile(const Cell& cell, const std::vector<RankRecord>& ranks,
                      const std::vector<trace::RankTimeline>& timelines) {
  Setting out{"compile", cell.compile, "", "", false};
  if (!ranks.empty()) out.set = text(part(ranks.front(), "compile"), "mode");
  for (const auto& rank : ranks) {
    if (!compiled_nothing(rank) || cell.compile == "python_eager") continue;
    out.used = "no graph was compiled";
    out.ineffective = true;
    return out;
  }
  if (timelines.empty() || timelines.front().host_time || timelines.front().steps.empty()) return out;
  if (timelines.front().dropped > 0) return out;  // what is missing may be what is looked for
  const auto launches = graph_launches(timelines.front());
  const auto steps = timelines.front().steps.size();
  out.used = fmt::format("CUDA graphs launched {} times in {}", launches, plural(steps, "traced step"));
  out.ineffective = launches == 0 && promises_graph_launches(cell.compile);
  if (out.ineffective)
    out.why = fmt::format("compile {}: no launch of a CUDA graph in {}", cell.compile, plural(steps, "traced step"));
  return out;
}

/// What is wrong with the caches of a rank; empty when nothing is, or nobody counted.
std::string cache_complaint(const std::string& asked, const Json& caches) {
  const auto before = number(caches, "entries_before").value_or(0);
  const auto hits = number(caches, "hits");
  const auto misses = number(caches, "misses").value_or(0);
  if (asked == "cold" && before > 0)
    return fmt::format("cache cold: {:.0f} entries before the launch, expected 0", before);
  if (asked == "warm" && hits == 0.0 && misses > 0)
    return fmt::format("cache warm: no hit and {}", misses == 1 ? "1 miss" : fmt::format("{:.0f} misses", misses));
  return "";
}

Setting judge_cache(const Cell& cell, const std::vector<RankRecord>& ranks) {
  Setting out{"cache", cell.cache, "", "", false};
  for (const auto& rank : ranks) {
    const auto& caches = part(part(rank, "compile"), "caches");
    if (!caches.is_object() || out.ineffective) continue;
    if (const auto before = number(caches, "entries_before")) out.set = fmt::format("{:.0f} entries before", *before);
    if (const auto hits = number(caches, "hits"))
      out.used = fmt::format("{:.0f} hits, {:.0f} misses", *hits, number(caches, "misses").value_or(0));
    out.why = cache_complaint(cell.cache, caches);
    out.ineffective = !out.why.empty();
  }
  return out;
}

Setting judge_checkpointing(const Cell& cell, const std::vector<RankRecord>& ranks) {
  Setting out{"checkpointing", cell.checkpointing, "", "", false};
  for (const auto& rank : ranks) {
    const auto& checkpoint = part(rank, "checkpoint");
    if (out.ineffective) break;
    if (const auto blocks = number(checkpoint, "blocks")) out.set = plural(*blocks, "block");
    if (number(part(part(rank, "settings"), "used"), "selective_choices") == 0.0) {
      out.used = "all recomputed";
      out.ineffective = true;
      out.why = fmt::format("checkpointing {}: nobody asked which results to keep, so all were recomputed",
                            cell.checkpointing);
      if (has_compile_caches(cell.compile) && cell.ddp.ranks > 1 && cell.compile_options.ddp_optimizer)
        out.why +=
            "; torch.compile's DDPOptimizer loses the choice where it splits the program: try ddp_optimizer: false";
      break;
    }
    const auto recomputed = number(checkpoint, "recomputed_blocks_per_step");
    if (!recomputed) continue;
    out.used = fmt::format("{} recomputed a step", plural(*recomputed, "block"));
    if (*recomputed > 0) continue;
    out.ineffective = true;
    out.why = fmt::format("checkpointing {}: no block was recomputed", cell.checkpointing);
  }
  return out;
}

}  // namespace

bool promises_graph_launches(const std::string& mode) {
  return is_cuda_graph_mode(mode) || mode == "compile.reduce-overhead" || mode == "compile.max-autotune";
}

std::vector<Setting> judge_mode(const Cell& cell, const std::vector<RankRecord>& ranks,
                                const std::vector<trace::RankTimeline>& timelines) {
  std::vector<Setting> out;
  if (cell.compile != "eager") out.push_back(judge_compile(cell, ranks, timelines));
  if (!cell.cache.empty()) out.push_back(judge_cache(cell, ranks));
  if (cell.checkpointing != "none") out.push_back(judge_checkpointing(cell, ranks));
  return out;
}

}  // namespace stepgauge::summary
