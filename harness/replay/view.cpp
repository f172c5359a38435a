#include "replay/view.hpp"

#include <algorithm>

namespace stepgauge::replay {
namespace {

Json known(std::int64_t value) {
  return value == not_known ? Json(nullptr) : Json(value);
}

Json ms(std::int64_t ns) {
  return ns == not_known ? Json(nullptr) : Json(static_cast<double>(ns) / 1e6);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json op_json(const Op& op) {
  return {{"kind", to_string(op.kind)},
          {"bytes", known(op.bytes)},
          {"dtype", text_or_null(op.dtype)},
          {"count", known(op.count)},
          {"call_site", text_or_null(op.call_site)}};
}

Json rank_json(const RankLog& rank) {
  return {{"rank", rank.rank},
          {"collectives", rank.collectives},
          {"messages", rank.messages},
          {"bytes", rank.bytes},
          {"collectives_without_size", rank.unsized},
          {"first_sequence", rank.collectives > 0 ? Json(rank.first) : Json(nullptr)},
          {"last_sequence", rank.collectives > 0 ? Json(rank.last) : Json(nullptr)},
          {"file", rank.origin}};
}

Json pattern_json(const Pattern& pattern, const Op& op) {
  return {{"pattern", to_string(pattern.kind)},
          {"ranks", pattern.ranks},
          {"group", pattern.group},
          {"sequence", pattern.sequence},
          {"collective", op_json(op)},
          {"collectives", pattern.collectives},
          {"value", pattern.value},
          {"text", pattern.text}};
}

Json slow_json(const SlowCollective& slow) {
  const auto& timing = slow.timing;
  auto out = Json{{"group", slow.group},
                  {"sequence", timing.sequence},
                  {"collective", op_json(slow.op)},
                  {"longest_ms", ms(timing.longest)},
                  {"longest_rank", timing.longest_rank},
                  {"shortest_ms", ms(timing.shortest)},
                  {"skew_ms", nullptr},
                  {"last_rank", nullptr}};
  if (timing.compared >= 2) {
    out["skew_ms"] = ms(timing.skew());
    out["last_rank"] = timing.last_rank;
  }
  return out;
}

}  // namespace

ReplayView view(const std::vector<std::string>& sources, const CollectiveLog& log, const PatternSettings& settings,
                std::size_t top) {
  ReplayView out;
  out.sources = sources;
  out.world_size = log.world_size;
  out.files = log.files;
  out.groups = log.groups.size();
  out.ranks = log.ranks;
  out.unread_lines = log.unread_lines;
  out.first_unread = log.first_unread;
  out.notes = log.notes;
  const auto rank_clocks = clocks(log);
  out.clocks = rank_clocks.size();
  for (const auto& [rank, clock] : rank_clocks) out.clock_error = std::max(out.clock_error, clock.error);
  auto found = find_patterns(log, rank_clocks, settings);
  out.notes.insert(out.notes.end(), found.notes.begin(), found.notes.end());
  out.patterns = std::move(found.patterns);
  for (const auto& pattern : out.patterns) out.pattern_ops.push_back(log.ops[pattern.op]);
  std::erase_if(found.timings, [](const CollectiveTiming& one) { return one.longest == not_known; });
  const auto shown = static_cast<std::ptrdiff_t>(std::min(top, found.timings.size()));
  std::partial_sort(found.timings.begin(), found.timings.begin() + shown, found.timings.end(),
                    [](const CollectiveTiming& a, const CollectiveTiming& b) {
                      return a.longest != b.longest ? a.longest > b.longest : a.sequence < b.sequence;
                    });
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const auto& timing = found.timings[static_cast<std::size_t>(i)];
    out.slowest.push_back({timing, log.ops[timing.op], log.groups[timing.group].name});
  }
  return out;
}

Json to_json(const ReplayView& view) {
  auto ranks = Json::array();
  for (const auto& rank : view.ranks) ranks.push_back(rank_json(rank));
  auto patterns = Json::array();
  for (std::size_t i = 0; i < view.patterns.size(); ++i) {
    patterns.push_back(pattern_json(view.patterns[i], view.pattern_ops[i]));
  }
  auto slowest = Json::array();
  for (const auto& slow : view.slowest) slowest.push_back(slow_json(slow));
  return {{"sources", view.sources},
          {"world_size", view.world_size > 0 ? Json(view.world_size) : Json(nullptr)},
          {"files", view.files},
          {"groups", view.groups},
          {"ranks", ranks},
          {"patterns", patterns},
          {"slowest", slowest},
          {"clocks", {{"ranks", view.clocks}, {"error_ms", view.clocks > 0 ? ms(view.clock_error) : Json(nullptr)}}},
          {"unread_lines", view.unread_lines},
          {"first_unread", text_or_null(view.first_unread)},
          {"notes", view.notes}};
}

}  // namespace stepgauge::replay
