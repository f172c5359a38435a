#include "trace/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "trace/detail/host_side.hpp"
#include "trace/detail/idle_gaps.hpp"
#include "trace/detail/traced_work.hpp"
#include "trace/labels.hpp"

namespace stepgauge::trace {
namespace {

/// What a row is about. The last kind has no name: the end of the traced steps.
using Key = std::pair<std::string, int>;
constexpr int end_of_trace = -1;
constexpr double least_ms = 1e-9;  ///< less than that is rounding

/// One key's part of a side, ns and counts over all steps of all ranks.
struct Part {
  std::int64_t count = 0, ns = 0, idle = 0;
  std::map<std::string, std::int64_t> idle_by_host;
};

/// One side by keys; `steps` over all ranks.
struct Side {
  std::map<Key, Part> parts;
  double steps = 0;
};

void add(const RankTimeline& timeline, Side& side) {
  // By index first: a name is looked up once for each kernel, not for each of its launches.
  std::map<std::pair<std::uint32_t, int>, Part> parts;
  detail::for_traced(timeline, [&](const Activity& activity, std::int64_t own) {
    auto& part = parts[{activity.name, static_cast<int>(activity.kind)}];
    ++part.count;
    part.ns += own;
  });
  const detail::HostSide host(timeline);
  Part last;
  for (const auto& [time, next] : detail::idle_gaps(timeline)) {
    auto& part = next != nullptr ? parts[{next->name, static_cast<int>(next->kind)}] : last;
    const auto length = time.end - time.begin;
    part.idle += length;
    part.idle_by_host[host.doing_at(time.begin + length / 2)] += length;
  }
  const auto merge = [&](const Key& key, const Part& part) {
    auto& sum = side.parts[key];
    sum.count += part.count;
    sum.ns += part.ns;
    sum.idle += part.idle;
    for (const auto& [text, ns] : part.idle_by_host) sum.idle_by_host[text] += ns;
  };
  for (const auto& [key, part] : parts) merge({timeline.names[key.first], key.second}, part);
  merge({"", end_of_trace}, last);
  side.steps += static_cast<double>(timeline.steps.size());
}

Side side_of(const LaunchTraces& traces) {
  Side out;
  for (const auto& timeline : traces.ranks) add(timeline, out);
  return out;
}

/// What the host was doing in the idle time that grew most (or shrank most, where `sign` is -1).
std::string host_of_change(const Part& a, const Part& b, double steps_a, double steps_b, int sign) {
  std::map<std::string, double> change;
  for (const auto& [text, ns] : a.idle_by_host) change[text] -= static_cast<double>(ns) / steps_a;
  for (const auto& [text, ns] : b.idle_by_host) change[text] += static_cast<double>(ns) / steps_b;
  const auto most = std::max_element(
      change.begin(), change.end(), [sign](const auto& x, const auto& y) { return sign * x.second < sign * y.second; });
  return most == change.end() ? "" : most->first;
}

/// Compares the sides key by key.
class Comparison {
 public:
  Comparison(Side a, Side b) : a_(std::move(a)), b_(std::move(b)) {}

  std::vector<DiffRow> run() {
    for (const auto& [key, part] : a_.parts) compare(key, part, b_.parts[key]);
    for (const auto& [key, part] : b_.parts) {
      if (a_.parts.find(key) == a_.parts.end()) compare(key, {}, part);
    }
    if (changed(idle_)) rows_.push_back(idle_);
    const auto rank = [](const DiffRow& row) {
      return std::tuple{-std::llround(std::abs(row.cost_ms()) / least_ms), row.change == Change::idle, row.kind};
    };
    std::sort(rows_.begin(), rows_.end(), [&](const DiffRow& x, const DiffRow& y) {
      return std::pair{rank(x), x.name} < std::pair{rank(y), y.name};
    });
    return std::move(rows_);
  }

 private:
  static bool changed(const DiffRow& row) { return std::abs(row.cost_ms()) >= least_ms; }
  double ms_a(std::int64_t ns) const { return static_cast<double>(ns) / a_.steps / 1e6; }
  double ms_b(std::int64_t ns) const { return static_cast<double>(ns) / b_.steps / 1e6; }

  void compare(const Key& key, const Part& a, const Part& b) {
    DiffRow row;
    row.name = key.first;
    row.kind = static_cast<ActivityKind>(std::max(key.second, 0));
    row.count_a = static_cast<double>(a.count) / a_.steps;
    row.count_b = static_cast<double>(b.count) / b_.steps;
    const bool counted = row.count_a != row.count_b;
    row.change = a.count == 0 ? Change::appeared : b.count == 0 ? Change::gone : counted ? Change::count : Change::time;
    row.ms_a = ms_a(a.ns + (counted ? a.idle : 0));
    row.ms_b = ms_b(b.ns + (counted ? b.idle : 0));
    const int sign = ms_b(b.idle) < ms_a(a.idle) ? -1 : 1;
    const auto host = host_of_change(a, b, a_.steps, b_.steps, sign);
    if (counted) {
      row.host = a.idle + b.idle > 0 ? host : "";
    } else {
      add_idle(key, ms_a(a.idle), ms_b(b.idle), host);
    }
    if (changed(row) || counted) rows_.push_back(std::move(row));
  }

  void add_idle(const Key& key, double a, double b, const std::string& host) {
    idle_.change = Change::idle;
    idle_.name = "idle";
    idle_.ms_a += a;
    idle_.ms_b += b;
    if (std::abs(b - a) <= std::abs(idle_.before_ms)) return;
    idle_.before_ms = b - a;
    idle_.before = key.first;
    idle_.before_kind = static_cast<ActivityKind>(std::max(key.second, 0));
    idle_.host = host;
  }

  Side a_, b_;
  DiffRow idle_;
  std::vector<DiffRow> rows_;
};

Breakdown sum_of(const LaunchTraces& traces) {
  Breakdown out;
  for (const auto& rank : traces.breakdowns) {
    for (const auto member : {&Breakdown::window, &Breakdown::compute, &Breakdown::communication, &Breakdown::copy,
                              &Breakdown::exposed_comm, &Breakdown::exposed_copy, &Breakdown::idle, &Breakdown::overlap,
                              &Breakdown::kernels, &Breakdown::copies, &Breakdown::launches, &Breakdown::graph_launches,
                              &Breakdown::collectives}) {
      out.*member += rank.total.*member;
    }
  }
  return out;
}

std::vector<BreakdownRow> breakdown_rows(const LaunchTraces& a, const LaunchTraces& b, double steps_a, double steps_b) {
  static constexpr std::tuple<const char*, bool, std::int64_t Breakdown::*> lines[] = {
      {"step", true, &Breakdown::window},
      {"compute", true, &Breakdown::compute},
      {"exposed communication", true, &Breakdown::exposed_comm},
      {"exposed copies", true, &Breakdown::exposed_copy},
      {"idle", true, &Breakdown::idle},
      {"communication", true, &Breakdown::communication},
      {"overlap", true, &Breakdown::overlap},
      {"copies", true, &Breakdown::copy},
      {"kernels", false, &Breakdown::kernels},
      {"copies and memsets", false, &Breakdown::copies},
      {"launches", false, &Breakdown::launches},
      {"graph launches", false, &Breakdown::graph_launches},
      {"collectives", false, &Breakdown::collectives}};
  const auto sum_a = sum_of(a), sum_b = sum_of(b);
  std::vector<BreakdownRow> out;
  for (const auto& [name, ms, member] : lines) {
    const double unit = ms ? 1e6 : 1;
    out.push_back({name, ms, static_cast<double>(sum_a.*member) / steps_a / unit,
                   static_cast<double>(sum_b.*member) / steps_b / unit});
  }
  return out;
}

DiffSide side_facts(const LaunchTraces& traces) {
  DiffSide out;
  out.source = traces.source;
  out.ranks = traces.ranks.size();
  for (std::size_t i = 0; i < traces.ranks.size(); ++i) {
    out.steps = std::max(out.steps, traces.ranks[i].steps.size());
    for (const auto& reason : traces.doubtful[i]) {
      out.doubtful.push_back(fmt::format("rank {}: {}", traces.ranks[i].rank, reason));
    }
  }
  return out;
}

void require_same_kind(const LaunchTraces& a, const LaunchTraces& b) {
  const auto on_host = [](const LaunchTraces& traces) { return traces.ranks.front().host_time; };
  if (on_host(a) == on_host(b)) return;
  const auto text = [&](const LaunchTraces& traces) {
    return fmt::format("{} has {}", traces.source, on_host(traces) ? "operators on a CPU" : "work on a device");
  };
  throw std::invalid_argument(fmt::format("not comparable: {}, {}", text(a), text(b)));
}

std::vector<std::string> notes_on(const LaunchTraces& a, const LaunchTraces& b) {
  std::vector<std::string> out;
  const auto& first = a.ranks.front();
  const auto& second = b.ranks.front();
  if (first.world_size != second.world_size || a.ranks.size() != b.ranks.size()) {
    out.push_back(fmt::format("A has traces of {} of {} ranks, B of {} of {}", a.ranks.size(), first.world_size,
                              b.ranks.size(), second.world_size));
  }
  if (first.device_name != second.device_name) {
    out.push_back(fmt::format("A ran on {}, B on {}",
                              first.device_name.empty() ? "an unknown device" : first.device_name,
                              second.device_name.empty() ? "an unknown device" : second.device_name));
  }
  return out;
}

Json json_of(const DiffSide& side) {
  return {{"source", side.source}, {"ranks", side.ranks}, {"steps", side.steps}, {"reasons", side.doubtful}};
}

Json json_of(const DiffRow& row) {
  const bool idle = row.change == Change::idle;
  Json out{{"change", to_string(row.change)},
           {"name", row.name},
           {"ms_a", row.ms_a},
           {"ms_b", row.ms_b},
           {"cost_ms", row.cost_ms()}};
  out["kind"] = idle ? Json(nullptr) : Json(to_string(row.kind));
  out["per_step_a"] = idle ? Json(nullptr) : Json(row.count_a);
  out["per_step_b"] = idle ? Json(nullptr) : Json(row.count_b);
  out["host"] = row.host.empty() ? Json(nullptr) : Json(row.host);
  out["before"] = row.before.empty() ? Json(nullptr) : Json(row.before);
  return out;
}

}  // namespace

std::string_view to_string(Change change) {
  static constexpr std::string_view words[] = {"appeared", "gone", "count", "time", "idle"};
  return words[static_cast<std::size_t>(change)];
}

TraceDiff diff(const LaunchTraces& a, const LaunchTraces& b) {
  require_same_kind(a, b);
  TraceDiff out;
  out.a = side_facts(a);
  out.b = side_facts(b);
  out.notes = notes_on(a, b);
  if (!out.reliable()) return out;
  auto side_a = side_of(a), side_b = side_of(b);
  out.breakdown = breakdown_rows(a, b, side_a.steps, side_b.steps);
  out.rows = Comparison(std::move(side_a), std::move(side_b)).run();
  return out;
}

Json to_json(const TraceDiff& diff) {
  Json rows = Json::array(), breakdown = Json::array();
  for (const auto& row : diff.rows) rows.push_back(json_of(row));
  for (const auto& row : diff.breakdown) {
    breakdown.push_back(
        {{"name", row.name}, {"unit", row.ms ? "ms" : "count"}, {"a", row.a}, {"b", row.b}, {"change", row.b - row.a}});
  }
  const bool known = diff.reliable();
  return {{"a", json_of(diff.a)},
          {"b", json_of(diff.b)},
          {"reliable", known},
          {"breakdown", known ? breakdown : Json(nullptr)},
          {"rows", known ? rows : Json(nullptr)},
          {"notes", diff.notes}};
}

}  // namespace stepgauge::trace
