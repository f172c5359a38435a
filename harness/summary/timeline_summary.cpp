#include "summary/timeline_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "stats/summary.hpp"

namespace stepgauge::summary {
namespace {

using trace::Breakdown;
using trace::RankBreakdown;
using trace::RankTimeline;

constexpr double ns_per_ms = 1e6;
constexpr double mib = 1024.0 * 1024.0;

double ms(std::int64_t ns) {
  return static_cast<double>(ns) / ns_per_ms;
}

Json parts_json(const Breakdown& part) {
  return {{"window_ms", ms(part.window)},
          {"compute_ms", ms(part.compute)},
          {"exposed_comm_ms", ms(part.exposed_comm)},
          {"exposed_copy_ms", ms(part.exposed_copy)},
          {"idle_ms", ms(part.idle)}};
}

Json rank_json(const RankTimeline& timeline, const RankBreakdown& breakdown, std::int64_t excluded) {
  const auto& total = breakdown.total;
  auto out = parts_json(total);
  out["rank"] = timeline.rank;
  out["communication_ms"] = ms(total.communication);
  out["copy_ms"] = ms(total.copy);
  out["overlap_ms"] = ms(total.overlap);
  out["duration_sum_ms"] = ms(total.duration_sum);
  out["kernels"] = total.kernels;
  out["copies"] = total.copies;
  out["launches"] = total.launches;
  out["graph_launches"] = total.graph_launches;
  out["collectives"] = total.collectives;
  out["collective_mib"] = static_cast<double>(total.collective_bytes) / mib;
  out["excluded"] = excluded;
  auto steps = Json::array();
  for (const auto& step : breakdown.steps) steps.push_back(parts_json(step));
  out["per_step"] = steps;
  return out;
}

/// Names and counts of what ran in the first traced step: equal for two cells that did the same work.
std::string signature(const RankTimeline& timeline) {
  if (timeline.steps.empty()) return "";
  std::map<std::string, int> counts;
  for (const auto& activity : timeline.activities) {
    const auto at = activity.time.begin;
    if (at >= timeline.steps.front().time.begin && at < timeline.steps.front().time.end)
      ++counts[timeline.names[activity.name]];
  }
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, 64 bits
  for (const auto& [name, count] : counts) {
    for (const char c : fmt::format("{}:{};", name, count)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
  }
  return fmt::format("{:016x}", hash);
}

class Summary {
 public:
  Summary(const trace::LaunchTraces& traces, const std::vector<RankRecord>& ranks, const std::vector<double>& steady_ms)
      : traces_(traces),
        timelines_(traces.ranks),
        breakdowns_(traces.breakdowns),
        ranks_(ranks),
        steady_ms_(steady_ms) {}

  TimelineSummary make() {
    overhead();
    if (timelines_.empty()) return none(absent_by_rank());
    describe();
    if (const auto reasons = unreliable(); !reasons.empty()) {
      out_.detail["unreliable"] = reasons;
      return none(fmt::format("unreliable trace: {}", fmt::join(reasons, "; ")));
    }
    ratios();
    stall_of_untraced();
    counts();
    between_ranks();
    return std::move(out_);
  }

 private:
  TimelineSummary none(std::string why) {
    out_.why_none = std::move(why);
    return std::move(out_);
  }

  std::string absent_by_rank() const {
    for (const auto& rank : ranks_) {
      const auto trace = rank.detail.find("trace");
      if (trace != rank.detail.end() && trace->is_object() && trace->contains("absent"))
        return trace->value("absent", "");
    }
    return "the worker wrote no trace";
  }

  /// Traced over untraced step time, of the slowest rank.
  void overhead() {
    std::vector<double> traced;
    for (const auto& rank : ranks_) {
      const auto trace = rank.detail.find("trace");
      if (trace == rank.detail.end() || !trace->contains("step_ms")) continue;
      const auto steps = trace->at("step_ms").get<std::vector<double>>();
      traced.resize(std::max(traced.size(), steps.size()), 0);
      for (std::size_t i = 0; i < steps.size(); ++i) traced[i] = std::max(traced[i], steps[i]);
    }
    const auto with = stats::median(traced);
    const auto without = stats::median(steady_ms_);
    if (with && without && *without > 0) out_.metrics["trace_overhead"] = *with / *without;
  }

  /// Kernels last as long traced as untraced, gaps between them do not when the host is what the step waits for. Not
  /// clamped: below 0 when the kernels ran slower in the traced pass.
  void stall_of_untraced() {
    const auto step_ms = stats::median(steady_ms_);
    if (!step_ms || *step_ms <= 0) return;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& breakdown : breakdowns_)
      least = std::min(least, ms(breakdown.total.compute) / static_cast<double>(breakdown.steps.size()));
    const double stall = 100 * (1 - least / *step_ms);
    out_.detail["stall_of_untraced"] = stall;
    const auto overhead = out_.metrics.find("trace_overhead");
    if (overhead == out_.metrics.end() || overhead->second <= tracer_slows_above) return;
    out_.note = fmt::format(
        "tracing made the steps {:.2f} times as long, so that idle and stall are the tracer's too: the same kernels "
        "leave "
        "{:.1f} % of an untraced step without compute",
        overhead->second, stall);
  }

  void describe() {
    out_.detail["clock"] = timelines_.front().host_time ? "host" : "device";
    out_.detail["steps"] = timelines_.front().steps.size();
    auto ranks = Json::array();
    for (std::size_t i = 0; i < timelines_.size(); ++i)
      ranks.push_back(rank_json(timelines_[i], breakdowns_[i], traces_.excluded[i]));
    out_.detail["ranks"] = ranks;
    out_.detail["signature"] = signature(timelines_.front());
  }

  std::vector<std::string> unreliable() const {
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < timelines_.size(); ++i) {
      for (const auto& reason : traces_.doubtful[i])
        reasons.push_back(timelines_.size() > 1 ? fmt::format("rank {}: {}", timelines_[i].rank, reason) : reason);
    }
    if (timelines_.size() != ranks_.size())
      reasons.push_back(fmt::format("{} of {} ranks left a trace", timelines_.size(), ranks_.size()));
    return reasons;
  }

  template <typename Value>
  void put_max(const char* name, Value&& value) {
    double largest = 0;
    for (const auto& breakdown : breakdowns_) largest = std::max(largest, value(breakdown.total));
    out_.metrics[name] = largest;
  }

  template <typename Value>
  double mean(Value&& value) const {
    double sum = 0;
    for (const auto& breakdown : breakdowns_) sum += value(breakdown.total);
    return sum / static_cast<double>(breakdowns_.size());
  }

  void ratios() {
    put_max("stall_ratio", [](const Breakdown& part) { return 100 * part.stall_ratio(); });
    put_max("idle_ratio", [](const Breakdown& part) { return 100 * part.idle_ratio(); });
    put_max("exposed_comm", [](const Breakdown& part) { return 100 * part.exposed_comm_ratio(); });
    put_max("exposed_copy", [](const Breakdown& part) { return 100 * part.exposed_copy_ratio(); });
    out_.metrics["stall_article"] = mean([](const Breakdown& part) { return 100 * part.stall_article(); });
    out_.detail["mean"] = {{"stall_ratio", mean([](const Breakdown& part) { return 100 * part.stall_ratio(); })},
                           {"idle_ratio", mean([](const Breakdown& part) { return 100 * part.idle_ratio(); })}};
    if (std::all_of(breakdowns_.begin(), breakdowns_.end(),
                    [](const RankBreakdown& one) { return one.total.overlap_ratio().has_value(); })) {
      out_.metrics["overlap_ratio"] = mean([](const Breakdown& part) { return 100 * *part.overlap_ratio(); });
    } else {
      out_.absent["overlap_ratio"] = "not applicable: no communication";
    }
  }

  void counts() {
    const auto steps = static_cast<double>(timelines_.front().steps.size());
    put_max("kernels_per_step", [&](const Breakdown& part) { return static_cast<double>(part.kernels) / steps; });
    put_max("collectives_per_step",
            [&](const Breakdown& part) { return static_cast<double>(part.collectives) / steps; });
    put_max("bytes_per_step",
            [&](const Breakdown& part) { return static_cast<double>(part.collective_bytes) / mib / steps; });
    if (timelines_.front().host_time) {
      out_.absent["launches_per_step"] = "a CPU launches nothing";
    } else {
      put_max("launches_per_step", [&](const Breakdown& part) { return static_cast<double>(part.launches) / steps; });
    }
  }

  void between_ranks() {
    if (timelines_.size() < 2) {
      out_.absent["rank_skew"] = "not applicable: one rank";
      return;
    }
    const auto& alignment = traces_.alignment;
    if (!alignment) {
      out_.absent["rank_skew"] = "fewer than 3 collectives were seen on every rank";
      return;
    }
    out_.detail["alignment"] = {
        {"shift_ns", alignment->shift}, {"error_ns", alignment->error}, {"collectives", alignment->collectives}};
    const auto skews = trace::skews(timelines_);
    if (skews.empty()) return;
    const auto worst = std::max_element(skews.begin(), skews.end(),
                                        [](const auto& a, const auto& b) { return a.entry_skew < b.entry_skew; });
    out_.metrics["rank_skew"] = ms(worst->entry_skew);
    auto list = Json::array();
    for (const auto& one : skews) {
      list.push_back({{"sequence", one.sequence},
                      {"kind", one.kind},
                      {"bytes", one.bytes},
                      {"bucket", one.bucket},
                      {"entry_skew_ms", ms(one.entry_skew)},
                      {"last_rank", one.last_rank},
                      {"longest_ms", ms(one.longest)},
                      {"shortest_ms", ms(one.shortest)}});
    }
    out_.detail["collectives"] = list;
  }

  const trace::LaunchTraces& traces_;
  const std::vector<RankTimeline>& timelines_;
  const std::vector<RankBreakdown>& breakdowns_;
  const std::vector<RankRecord>& ranks_;
  const std::vector<double>& steady_ms_;
  TimelineSummary out_;
};

}  // namespace

const std::vector<std::string>& timeline_metrics() {
  static const std::vector<std::string> names{"stall_ratio",      "idle_ratio",        "exposed_comm",
                                              "exposed_copy",     "overlap_ratio",     "stall_article",
                                              "kernels_per_step", "launches_per_step", "collectives_per_step",
                                              "bytes_per_step",   "rank_skew",         "trace_overhead"};
  return names;
}

TimelineSummary summarise_timelines(const trace::LaunchTraces& traces, const std::vector<RankRecord>& ranks,
                                    const std::vector<double>& steady_ms) {
  return Summary(traces, ranks, steady_ms).make();
}

}  // namespace stepgauge::summary
