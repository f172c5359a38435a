#include "launch/outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "contract/optional_json.hpp"
#include "contract/plural.hpp"
#include "launch/rank_record_file.hpp"
#include "launch/text.hpp"

namespace stepgauge::launch {
namespace {

constexpr double tie_s = 0.05;
constexpr double odd_silence_s = 1;

constexpr std::array<std::string_view, 16> phase_order{
    "spawn",  "runtime", "rendezvous", "replay", "build", "wrap",   "compile", "first_step",
    "warmup", "measure", "probe",      "trace",  "sweep", "verify", "census",  "finish"};

int phase_index(const std::string& phase) {
  const auto found = std::find(phase_order.begin(), phase_order.end(), phase);
  return found == phase_order.end() ? -1 : static_cast<int>(found - phase_order.begin());
}

std::string place_text(const std::string& phase, const std::optional<std::int64_t>& step) {
  if (phase.empty() && !step) return "before its first word of progress";
  std::string out = phase.empty() ? "in no named phase" : "in phase " + phase;
  if (step) out += fmt::format(", step {}", *step);
  return out;
}

auto place_key(const RankState& state) {
  return std::make_pair(phase_index(state.phase), state.step.value_or(-1));
}

/// "rank 0 in phase measure, step 13; ranks 2, 3 had ended", without `except`.
std::string places_of_others(const std::vector<RankState>& states, std::optional<int> except) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const auto& state : states) {
    if (state.rank == except) continue;
    const auto place = state.running ? place_text(state.phase, state.step) : std::string("had ended");
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& item) { return item.first == place; });
    if (group == groups.end()) group = groups.insert(groups.end(), {place, {}});
    group->second.push_back(state.rank);
  }
  std::vector<std::string> parts;
  for (const auto& [place, ranks] : groups) parts.push_back(numbered("rank", ranks) + " " + place);
  return fmt::format("{}", fmt::join(parts, "; "));
}

const RankState* find_odd(const std::vector<RankState>& states, double limit_s, double now_s) {
  std::vector<const RankState*> silent;
  for (const auto& state : states) {
    if (state.running && now_s - state.last_sign_s >= limit_s / 2) silent.push_back(&state);
  }
  if (silent.empty()) return nullptr;
  std::sort(silent.begin(), silent.end(), [](const auto* a, const auto* b) {
    return std::make_tuple(place_key(*a), a->last_sign_s, a->rank) <
           std::make_tuple(place_key(*b), b->last_sign_s, b->rank);
  });
  const auto* odd = silent.front();
  const bool alone = std::all_of(states.begin(), states.end(), [&](const RankState& other) {
    return other.rank == odd->rank || !other.running || place_key(other) != place_key(*odd) ||
           other.last_sign_s - odd->last_sign_s > odd_silence_s;
  });
  return alone ? odd : nullptr;
}

/// Of the ranks that run; there is one when a clock runs out.
const RankState& longest_silent(const std::vector<RankState>& states) {
  return *std::min_element(states.begin(), states.end(), [](const RankState& a, const RankState& b) {
    return std::make_tuple(!a.running, a.last_sign_s) < std::make_tuple(!b.running, b.last_sign_s);
  });
}

/// What took too long in the phase of `state`, which a limit of compiling ended.
std::string too_long_text(const RankState& state) {
  const bool compiles = state.phase == "compile" || state.phase == "first_step" || state.phase == "warmup";
  return fmt::format(" {}: {} took longer than limits.compile", place_text(state.phase, std::nullopt),
                     compiles ? "compiling" : "it");
}

double failed_at_s(const RankExit& rank) {
  if (rank.record && rank.record->status != Status::ok && rank.record_s) {
    return std::clamp(*rank.record_s, 0.0, rank.ended_s);
  }
  return rank.ended_s;
}

int tie_order(const RankExit& rank) {
  if (rank.signal) return 0;
  return rank.record && rank.record->status != Status::ok && rank.record->status != Status::crashed ? 1 : 2;
}

const RankExit* first_failure(const std::vector<RankExit>& ranks) {
  std::vector<const RankExit*> failed;
  for (const auto& rank : ranks) {
    if (!went_well(rank) && !rank.killed_by_harness) failed.push_back(&rank);
  }
  if (failed.empty()) return nullptr;
  const double first_s = failed_at_s(**std::min_element(
      failed.begin(), failed.end(), [](const auto* a, const auto* b) { return failed_at_s(*a) < failed_at_s(*b); }));
  std::erase_if(failed, [&](const auto* rank) { return failed_at_s(*rank) > first_s + tie_s; });
  return *std::min_element(failed.begin(), failed.end(), [](const auto* a, const auto* b) {
    return std::make_tuple(tie_order(*a), failed_at_s(*a), a->rank) <
           std::make_tuple(tie_order(*b), failed_at_s(*b), b->rank);
  });
}

Judgement judge_failure(const RankExit& rank, bool several) {
  const auto who = several ? fmt::format("rank {}", rank.rank) : std::string("the worker");
  if (rank.record && rank.record->status != Status::ok) {
    auto reason = rank.record->reason.empty() ? std::string("no reason given") : printable(rank.record->reason, 1000);
    if (several) reason = who + ": " + reason;
    if (rank.signal) reason += fmt::format(" (then {} died by {})", who, signal_text(*rank.signal));
    return {rank.record->status, reason};
  }
  std::string reason = who;
  if (rank.signal) {
    reason += " died by " + signal_text(*rank.signal);
  } else if (rank.exit_code) {
    reason += fmt::format(" exited with {}", *rank.exit_code);
  } else {
    reason += " could not be ended";
  }
  if (rank.record) {
    reason += rank.signal ? " after its record said ok" : " although its record says ok";
  } else if (rank.record_error != no_record) {
    reason += "; its record is refused: " + rank.record_error;
  } else if (rank.exit_code == 0) {
    reason += " but left no record";
  }
  reason += ", last seen " + place_text(rank.last_phase, rank.last_step);
  if (!rank.last_lines.empty()) reason += "; last line: " + rank.last_lines.back();
  return {Status::crashed, reason};
}

Json rank_json(const RankExit& rank, bool with_lines) {
  Json out{{"rank", rank.rank},
           {"pid", rank.pid},
           {"exit_code", json_of(rank.exit_code)},
           {"signal", rank.signal ? Json(signal_text(*rank.signal)) : Json(nullptr)},
           {"killed_by_harness", rank.killed_by_harness},
           {"last_phase", rank.last_phase},
           {"last_step", json_of(rank.last_step)},
           {"last_sign_s", rank.last_sign_s},
           {"ended_s", rank.ended_s},
           {"out_bytes", rank.out_bytes},
           {"err_bytes", rank.err_bytes},
           {"dropped_bytes", rank.dropped_bytes},
           {"user_s", rank.user_s},
           {"system_s", rank.system_s},
           {"max_rss_kib", rank.max_rss_kib},
           {"voluntary_switches", rank.voluntary_switches},
           {"involuntary_switches", rank.involuntary_switches},
           {"minor_faults", rank.minor_faults},
           {"major_faults", rank.major_faults}};
  if (!rank.host.empty()) out["host"] = rank.host;
  if (!rank.record_error.empty()) out["record_error"] = rank.record_error;
  if (with_lines) out["last_lines"] = rank.last_lines;
  return out;
}

/// "rank 0 left 1 process behind: 4711 sleep 1000".
std::vector<std::string> left_behind_notes(const std::vector<LeftBehind>& processes) {
  std::map<std::string, std::vector<std::string>> by_rank;
  for (const auto& process : processes) {
    const auto who = process.rank ? fmt::format("rank {}", *process.rank) : std::string("a rank");
    by_rank[who].push_back(fmt::format("{} {}", process.pid, process.command));
  }
  std::vector<std::string> out;
  for (const auto& [who, items] : by_rank) {
    out.push_back(fmt::format("{} left {} process{} behind: {}", who, items.size(), items.size() == 1 ? "" : "es",
                              fmt::join(items, "; ")));
  }
  return out;
}

}  // namespace

bool went_well(const RankExit& rank) {
  return rank.exit_code == 0 && rank.record && rank.record->status == Status::ok;
}

bool may_compile(const std::string& mode, const std::string& phase) {
  if (phase == "verify" || phase == "census") return true;
  if (phase == "runtime") return is_python_mode(mode);
  if (mode == "eager" || mode == "python_eager") return false;
  return phase == "compile" || phase == "first_step" || phase == "warmup";
}

Hang describe_hang(const std::string& limit, double limit_s, double now_s, const std::vector<RankState>& states) {
  Hang out{limit, limit_s, now_s, std::nullopt, {}};
  const auto* odd = find_odd(states, limit_s, now_s);
  out.reason = limit == deadline_limit ? fmt::format("not done after {:g} s", limit_s)
                                       : fmt::format("no sign of life for {:g} s", limit_s);
  if (limit == compile_limit) out.reason += too_long_text(odd == nullptr ? longest_silent(states) : *odd);
  const auto* joint = limit == compile_limit ? "; " : ": ";
  if (odd != nullptr) {
    out.odd_rank = odd->rank;
    if (states.size() == 1 && limit == compile_limit) return out;  // all is said
    out.reason += fmt::format("{}rank {} last seen {}, {:.1f} s before", joint, odd->rank,
                              place_text(odd->phase, odd->step), now_s - odd->last_sign_s);
    if (const auto others = places_of_others(states, odd->rank); !others.empty()) out.reason += "; " + others;
  } else {
    out.reason += joint + places_of_others(states, std::nullopt);
  }
  return out;
}

Judgement judge(const LaunchFacts& facts) {
  if (!facts.start_error.empty()) return {Status::crashed, facts.start_error};
  if (facts.stopped_by_user) return {Status::skipped, "interrupted by the user"};
  if (facts.hang) return {Status::hung, facts.hang->reason};
  if (facts.group) return *facts.group;
  if (const auto* failure = first_failure(facts.ranks)) return judge_failure(*failure, facts.ranks.size() > 1);
  if (std::all_of(facts.ranks.begin(), facts.ranks.end(), went_well)) return {Status::ok, {}};
  return {Status::crashed, "a rank was ended by the launcher"};
}

Json evidence_json(const LaunchFacts& facts, const Surroundings& surroundings, Status status) {
  Json out{{"ranks", Json::array()}};
  auto notes = left_behind_notes(surroundings.left_behind);
  notes.insert(notes.end(), surroundings.notes.begin(), surroundings.notes.end());
  for (const auto& rank : facts.ranks) out["ranks"].push_back(rank_json(rank, status != Status::ok));
  if (!facts.container.is_null()) out["container"] = facts.container;
  if (!facts.engine.is_null()) out["engine"] = facts.engine;
  if (facts.hang) {
    out["hang"] = {{"limit", facts.hang->limit},
                   {"limit_s", facts.hang->limit_s},
                   {"at_s", facts.hang->at_s},
                   {"odd_rank", json_of(facts.hang->odd_rank)}};
  }
  for (const auto& process : surroundings.left_behind) {
    out["left_behind"].push_back({{"rank", json_of(process.rank)}, {"pid", process.pid}, {"command", process.command}});
  }
  for (const auto& conflict : surroundings.conflicts) {
    out["environment_conflicts"].push_back(
        {{"name", conflict.name}, {"shell", conflict.shell}, {"cell", conflict.cell}});
    notes.push_back(fmt::format("{}: the shell says \"{}\", the cell \"{}\"; the cell wins", conflict.name,
                                printable(conflict.shell, 100), printable(conflict.cell, 100)));
  }
  if (!notes.empty()) out["notes"] = notes;
  return out;
}

}  // namespace stepgauge::launch
