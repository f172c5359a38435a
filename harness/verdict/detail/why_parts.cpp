#include "verdict/detail/why_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "contract/loose_json.hpp"
#include "verdict/detail/outcome.hpp"

namespace stepgauge::verdict::detail {
namespace {

WhyPart start(WhyKind kind) {
  WhyPart out;
  out.kind = kind;
  return out;
}

void append(std::vector<WhyLine> lines, std::vector<WhyLine>& out) {
  drop_equal(lines);
  out.insert(out.end(), lines.begin(), lines.end());
}

/// Lines of a number that both arms have; nothing otherwise.
void append_means(const Arms& arms, const Reader& read, const std::string& unit, std::optional<double> change,
                  std::vector<WhyLine>& out) {
  const auto base = means(arms.base_ok, read), head = means(arms.head_ok, read);
  if (base && head) append(lines_of(*base, *head, unit, change), out);
}

/// Over the collectives of the traced pass: longest less shortest, which is waiting for the rank that came last.
std::optional<Values> waiting(const LaunchRecord& launch) {
  const auto* collectives = part_of(launch.detail, {"timeline", "collectives"});
  const double steps = traced_steps(launch);
  if (collectives == nullptr || !collectives->is_array() || steps <= 0) return std::nullopt;
  double wait = 0;
  for (const auto& one : *collectives)
    wait += loose::number(one, "longest_ms").value_or(0) - loose::number(one, "shortest_ms").value_or(0);
  return Values{{"waiting for the last rank", wait / steps}};
}

/// "rank 1 in 97 %" of the rank that came last most often, over all launches; empty when nobody knows.
std::string last_rank(const std::vector<const LaunchRecord*>& launches) {
  std::map<int, std::size_t> counts;
  std::size_t all = 0;
  for (const auto* launch : launches) {
    const auto* collectives = part_of(launch->detail, {"timeline", "collectives"});
    if (collectives == nullptr || !collectives->is_array()) continue;
    for (const auto& one : *collectives) {
      const auto rank = loose::number(one, "last_rank");
      if (!rank) continue;
      ++counts[static_cast<int>(*rank)];
      ++all;
    }
  }
  if (all == 0) return "";
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("rank {} in {:.0f} %", most->first,
                     100 * static_cast<double>(most->second) / static_cast<double>(all));
}

/// A total of the traced pass per step (traced_parts).
Reader traced(const char* name, const char* key) {
  return [name, key](const LaunchRecord& launch) { return traced_parts(launch, {{name, key}}); };
}

/// Of the measured steps: calls and MiB of a step, by kind of collective.
Reader by_kind(const char* key, double unit) {
  return [key, unit](const LaunchRecord& launch) -> std::optional<Values> {
    const auto* kinds = part_of(launch.detail, {"communication", "by_kind"});
    if (kinds == nullptr || !kinds->is_object()) return std::nullopt;
    Values out;
    for (const auto& [kind, value] : kinds->items()) {
      if (const auto number = loose::number(value, key)) out[fmt::format("{} {}", kind, key)] = *number / unit;
    }
    return out;
  };
}

Reader phases_of_memory(const char* list, const char* key, const char* words) {
  return [list, key, words](const LaunchRecord& launch) -> std::optional<Values> {
    const auto* phases = part_of(launch.detail, {"memory", list});
    if (phases == nullptr || !phases->is_array()) return std::nullopt;
    Values out;
    for (const auto& phase : *phases) {
      const auto* name = part_of(phase, {"phase"});
      const auto number = loose::number(phase, key);
      if (name != nullptr && name->is_string() && number) out[words + name->get<std::string>()] = *number;
    }
    return out;
  };
}

/// Every number of an object below detail, under its key with `words` before it.
Reader numbers_of(std::initializer_list<const char*> path, const char* words, std::set<std::string> only = {}) {
  const std::vector<const char*> keys(path);
  return [keys, words, only](const LaunchRecord& launch) -> std::optional<Values> {
    const Json* found = &launch.detail;
    for (const auto* key : keys) {
      found = part_of(*found, {key});
      if (found == nullptr) return std::nullopt;
    }
    if (!found->is_object()) return std::nullopt;
    Values out;
    for (const auto& [name, value] : found->items()) {
      if (value.is_number() && (only.empty() || only.count(name) != 0)) out[words + name] = value;
    }
    return out;
  };
}

std::string text_at(const Json& value, const char* key) {
  const auto* found = part_of(value, {key});
  if (found == nullptr) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// "REASON at FILE:LINE" of every graph break, or "FUNCTION: GUARD" of every recompile.
std::set<std::string> places(const std::vector<const LaunchRecord*>& launches, const char* list, const char* what) {
  std::set<std::string> out;
  for (const auto* launch : launches) {
    const auto* items = part_of(launch->detail, {"compile", list});
    if (items == nullptr || !items->is_array()) continue;
    for (const auto& item : *items) {
      out.insert(fmt::format("{} in {} at {}:{}", text_at(item, what), text_at(item, "function"), text_at(item, "file"),
                             text_at(item, "line")));
    }
  }
  return out;
}

void add_places(const Arms& arms, const char* list, const char* what, const char* name, std::vector<WhyLine>& out) {
  const auto base = places(arms.base_ok, list, what), head = places(arms.head_ok, list, what);
  const auto add = [&](const std::set<std::string>& from, const std::set<std::string>& other, bool in_head) {
    for (const auto& place : from) {
      if (other.count(place) != 0) continue;
      WhyLine line;
      line.name = name;
      line.base_text = in_head ? "(none)" : place;
      line.head_text = in_head ? place : "(none)";
      out.push_back(std::move(line));
    }
  };
  add(head, base, true);
  add(base, head, false);
}

std::optional<Values> compile_counts(const LaunchRecord& launch) {
  if (part_of(launch.detail, {"compile"}) == nullptr) return std::nullopt;
  Values out;
  for (const auto& [name, metric] : {std::pair{"captures", "graph_captures"}, std::pair{"graph breaks", "graph_breaks"},
                                     std::pair{"recompiles", "recompiles"}}) {
    const auto found = launch.metrics.find(metric);
    if (found != launch.metrics.end() && found->second.value) out[name] = *found->second.value;
  }
  const auto& compile = *part_of(launch.detail, {"compile"});
  if (const auto late = loose::number(compile, "captures_late")) out["captures behind the warm-up"] = *late;
  if (const auto nodes = loose::number(compile, "graph_nodes")) out["nodes of the graphs"] = *nodes;
  return out;
}

std::string last_phase(const LaunchRecord& launch) {
  const auto* ranks = part_of(launch.detail, {"evidence", "ranks"});
  if (ranks == nullptr || !ranks->is_array()) return "";
  for (const auto& rank : *ranks) {
    const auto phase = text_at(rank, "last_phase");
    if (!phase.empty()) return phase;
  }
  return "";
}

}  // namespace

WhyPart failures_part(const Arms& arms) {
  auto out = start(WhyKind::failures);
  WhyLine line;
  line.name = "launches";
  line.base_text = outcome_of(*arms.base).text();
  line.head_text = outcome_of(*arms.head).text();
  out.lines.push_back(line);
  for (const auto& [name, cell] : {std::pair{"base", arms.base}, std::pair{"head", arms.head}}) {
    std::set<std::string> told;
    for (const auto& launch : cell->launches) {
      if (launch.status == Status::ok) continue;
      const auto phase = last_phase(launch);
      auto text = fmt::format("{}: {}{}{}{}{}", name, to_string(launch.status), launch.reason.empty() ? "" : ": ",
                              launch.reason, phase.empty() ? "" : "; last phase ", phase);
      if (told.insert(text).second) out.notes.push_back(std::move(text));
    }
  }
  return out;
}

WhyPart collectives_part(const Arms& arms) {
  auto out = start(WhyKind::collectives);
  if (arms.base->cell.ddp.ranks < 2 && arms.head->cell.ddp.ranks < 2) {
    out.absent = "one rank: there are no collectives";
    return out;
  }
  const auto change = change_of(arms, "step_time");
  append_means(arms, waiting, "ms", change, out.lines);
  append_means(arms, traced("time in collectives", "communication_ms"), "ms", std::nullopt, out.lines);
  append_means(arms, traced("of it hidden behind compute", "overlap_ms"), "ms", std::nullopt, out.lines);
  append_means(arms, traced("collectives of a step", "collectives"), "count", std::nullopt, out.lines);
  append_means(arms, traced("payload of a step", "collective_mib"), "MiB", std::nullopt, out.lines);
  append_means(arms, by_kind("calls", 1), "count", std::nullopt, out.lines);
  append_means(arms, by_kind("bytes", 1024.0 * 1024.0), "MiB", std::nullopt, out.lines);
  const auto base = last_rank(arms.base_ok), head = last_rank(arms.head_ok);
  if (!base.empty() && !head.empty() && base != head) {
    WhyLine line;
    line.name = "comes last";
    line.base_text = base;
    line.head_text = head;
    out.lines.push_back(std::move(line));
  }
  const Reader any = [](const LaunchRecord& launch) -> std::optional<Values> {
    const bool known = part_of(launch.detail, {"communication"}) != nullptr ||
                       traced_parts(launch, {{"collectives", "collectives"}}).has_value();
    return known ? std::optional(Values{}) : std::nullopt;
  };
  out.absent = not_recorded(means(arms.base_ok, any).has_value(), means(arms.head_ok, any).has_value(), "collectives");
  const bool base_waits = means(arms.base_ok, waiting).has_value(),
             head_waits = means(arms.head_ok, waiting).has_value();
  if (out.absent.empty() && !(base_waits && head_waits))
    out.notes.push_back(not_recorded(base_waits, head_waits, "who waits for whom"));
  return out;
}

WhyPart memory_part(const Arms& arms, const std::string& metric) {
  auto out = start(WhyKind::memory);
  const auto change = change_of(arms, metric);
  const bool first = metric == "peak_memory_first_step";
  const char* list = first ? "first_step_phases" : "phases";
  const auto read = phases_of_memory(list, "peak_mib", "peak in ");
  out.absent =
      not_recorded(means(arms.base_ok, read).has_value(), means(arms.head_ok, read).has_value(), "memory by phase");
  append_means(arms, read, "MiB", change, out.lines);
  append_means(arms, phases_of_memory(list, "allocated_mib", "held at the end of "), "MiB", change, out.lines);
  append_means(arms, numbers_of({"memory"}, "", {"graph_pools_mib", "largest_free_mib"}), "MiB", std::nullopt,
               out.lines);
  append_means(arms, numbers_of({"memory"}, "", {"allocations_per_step", "retries"}), "count", std::nullopt, out.lines);
  append_means(arms, numbers_of({"memory", "outside_mib_after"}, "outside the allocator after "), "MiB", std::nullopt,
               out.lines);
  return out;
}

WhyPart compile_part(const Arms& arms, const std::string& metric, Family family) {
  auto out = start(WhyKind::compile);
  if (arms.base->cell.compile == "eager" && arms.head->cell.compile == "eager") {
    out.absent = "eager compiles nothing";
    return out;
  }
  const auto base = means(arms.base_ok, compile_counts), head = means(arms.head_ok, compile_counts);
  out.absent = not_recorded(base.has_value(), head.has_value(), "what the compiler did");
  const bool start_time = family == Family::init || family == Family::first_step;
  const auto change = start_time ? change_of(arms, metric) : std::nullopt;
  append_means(arms, numbers_of({"compile"}, "", {"compile_s"}), "s", change, out.lines);
  append_means(arms, compile_counts, "count", std::nullopt, out.lines);
  append_means(arms, numbers_of({"compile", "stages_s"}, "stage "), "s", std::nullopt, out.lines);
  append_means(arms, numbers_of({"compile", "caches"}, "cache ", {"hits", "misses", "entries_before"}), "count",
               std::nullopt, out.lines);
  add_places(arms, "graph_breaks", "reason", "graph break", out.lines);
  add_places(arms, "recompiles", "guard", "recompile", out.lines);
  return out;
}

}  // namespace stepgauge::verdict::detail
