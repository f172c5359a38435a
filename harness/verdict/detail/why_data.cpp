#include "verdict/detail/why_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "contract/loose_json.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double share_rounding = 1e-9;

std::vector<const LaunchRecord*> ok_launches(const CellResults& cell) {
  std::vector<const LaunchRecord*> out;
  for (const auto& launch : cell.launches) {
    if (launch.status == Status::ok) out.push_back(&launch);
  }
  return out;
}

double size_of(const WhyLine& line) {
  return std::abs(line.head.value_or(0) - line.base.value_or(0));
}

std::optional<double> value_of(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Arms arms_of(const CellResults& base, const CellResults& head) {
  return {&base, &head, ok_launches(base), ok_launches(head)};
}

const Json* part_of(const Json& value, std::initializer_list<const char*> path) {
  const auto* out = &value;
  for (const auto* key : path) {
    if (!out->is_object()) return nullptr;
    const auto found = out->find(key);
    if (found == out->end() || found->is_null()) return nullptr;
    out = &*found;
  }
  return out;
}

std::optional<Values> means(const std::vector<const LaunchRecord*>& launches, const Reader& read) {
  Values out;
  std::size_t count = 0;
  for (const auto* launch : launches) {
    const auto values = read(*launch);
    if (!values) continue;
    ++count;
    for (const auto& [name, value] : *values) out[name] += value;
  }
  if (count == 0) return std::nullopt;
  for (auto& [name, value] : out) value /= static_cast<double>(count);
  return out;
}

std::optional<double> mean_of(const std::vector<const LaunchRecord*>& launches, const std::string& metric) {
  const auto found = means(launches, [&](const LaunchRecord& launch) -> std::optional<Values> {
    const auto value = launch.metrics.find(metric);
    if (value == launch.metrics.end() || !value->second.value) return std::nullopt;
    return Values{{metric, *value->second.value}};
  });
  return found ? std::optional(found->at(metric)) : std::nullopt;
}

std::optional<double> change_of(const Arms& arms, const std::string& metric) {
  const auto base = mean_of(arms.base_ok, metric), head = mean_of(arms.head_ok, metric);
  return base && head ? std::optional(*head - *base) : std::nullopt;
}

std::string absent_reason(const Arms& arms, const std::string& metric) {
  for (const auto& [name, launches] : {std::pair{"base", &arms.base_ok}, std::pair{"head", &arms.head_ok}}) {
    if (mean_of(*launches, metric)) continue;
    if (launches->empty()) return fmt::format("{}: no launch went well", name);
    const auto found = launches->front()->metrics.find(metric);
    const bool told = found != launches->front()->metrics.end() && !found->second.absent.empty();
    return fmt::format("{}: {}", name, told ? found->second.absent : "not in the record");
  }
  return "";
}

double traced_steps(const LaunchRecord& launch) {
  const auto* timeline = part_of(launch.detail, {"timeline"});
  if (timeline == nullptr || timeline->contains("unreliable")) return 0;
  return loose::number(*timeline, "steps").value_or(0);
}

std::optional<Values> traced_parts(const LaunchRecord& launch,
                                   std::initializer_list<std::pair<const char*, const char*>> keys) {
  const auto* ranks = part_of(launch.detail, {"timeline", "ranks"});
  const double steps = traced_steps(launch);
  if (ranks == nullptr || !ranks->is_array() || ranks->empty() || steps <= 0) return std::nullopt;
  Values out;
  for (const auto& rank : *ranks) {
    for (const auto& [name, key] : keys)
      out[name] += loose::number(rank, key).value_or(0) / steps / static_cast<double>(ranks->size());
  }
  return out;
}

std::vector<WhyLine> lines_of(const Values& base, const Values& head, const std::string& unit,
                              std::optional<double> change) {
  std::set<std::string> names;
  for (const auto* side : {&base, &head}) {
    for (const auto& entry : *side) names.insert(entry.first);
  }
  std::vector<WhyLine> out;
  for (const auto& name : names) {
    WhyLine line;
    line.name = name;
    line.unit = unit;
    line.base = value_of(base, name);
    line.head = value_of(head, name);
    if (change && std::abs(*change) > share_rounding)
      line.share = (line.head.value_or(0) - line.base.value_or(0)) / *change;
    out.push_back(std::move(line));
  }
  std::stable_sort(out.begin(), out.end(), [](const WhyLine& a, const WhyLine& b) { return size_of(a) > size_of(b); });
  return out;
}

void drop_equal(std::vector<WhyLine>& lines) {
  lines.erase(std::remove_if(lines.begin(), lines.end(),
                             [](const WhyLine& line) {
                               const double largest =
                                   std::max(std::abs(line.base.value_or(0)), std::abs(line.head.value_or(0)));
                               return line.base.has_value() == line.head.has_value() &&
                                      size_of(line) <= share_rounding * std::max(1.0, largest);
                             }),
              lines.end());
}

std::string not_recorded(bool base, bool head, const std::string& what) {
  if (base && head) return "";
  return fmt::format("{} {} not recorded by {}", what, what.ends_with('s') ? "are" : "is",
                     base   ? "head"
                     : head ? "base"
                            : "either arm");
}

}  // namespace stepgauge::verdict::detail
