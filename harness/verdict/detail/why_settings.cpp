#include "verdict/detail/why_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "verdict/differences.hpp"

namespace stepgauge::verdict::detail {
namespace {

constexpr double clock_rounding = 0.01;  ///< clocks that differ by less vary from look to look

WhyLine text_line(std::string name, std::string base, std::string head) {
  WhyLine out;
  out.name = std::move(name);
  out.base_text = std::move(base);
  out.head_text = std::move(head);
  return out;
}

/// A setting that one cell spells out and the other leaves at its default of nothing.
bool says_nothing(const std::string& text) {
  return text == "(none)" || text == "null" || text == "0" || text == "0.0" || text.empty();
}

/// "precision used" -> every value that the launches of a cell had.
Texts settings_told(const CellResults& cell) {
  Texts out;
  for (const auto& launch : cell.launches) {
    const auto* settings = part_of(launch.detail, {"settings"});
    if (settings == nullptr || !settings->is_object()) continue;
    for (const auto& [name, setting] : settings->items()) {
      for (const char* key : {"asked", "set", "used"}) {
        const auto* value = part_of(setting, {key});
        if (value != nullptr && value->is_string() && !value->get<std::string>().empty())
          out[name + ", " + key].insert(value->get<std::string>());
      }
    }
  }
  return out;
}

std::string joined(const Texts& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() ? "(not told)" : fmt::format("{}", fmt::join(found->second, " | "));
}

void add_told(const CellResults& base, const CellResults& head, std::vector<WhyLine>& out) {
  const auto in_base = settings_told(base), in_head = settings_told(head);
  std::set<std::string> names;
  for (const auto* side : {&in_base, &in_head}) {
    for (const auto& entry : *side) names.insert(entry.first);
  }
  for (const auto& name : names) {
    auto line = text_line(name, joined(in_base, name), joined(in_head, name));
    if (line.base_text != line.head_text) out.push_back(std::move(line));
  }
}

}  // namespace

std::vector<WhyLine> setting_differences(const CellResults& base, const CellResults& head,
                                         const std::vector<WhyLine>& clocks) {
  std::vector<WhyLine> out;
  for (auto& item : differences(identity_json(base.cell), identity_json(head.cell))) {
    if (says_nothing(item.base) && says_nothing(item.head)) continue;
    out.push_back(text_line("cell: " + item.field, item.base, item.head));
  }
  add_told(base, head, out);
  ResultSet none;
  for (auto& item : software_differences(none, none, {{&base, &head}}))
    out.push_back(text_line(item.field, item.base, item.head));
  for (const auto& clock : clocks) {
    if (clock.base && clock.head && std::abs(*clock.head - *clock.base) > clock_rounding * *clock.base)
      out.push_back(clock);
  }
  return out;
}

std::vector<WhyLine> machine_differences(const ResultSet& base, const ResultSet& head) {
  std::vector<WhyLine> out;
  for (auto& item : differences(base.fingerprint, head.fingerprint))
    out.push_back(text_line("machine: " + item.field, item.base, item.head));
  for (auto& item : software_differences(base, head, {})) out.push_back(text_line(item.field, item.base, item.head));
  return out;
}

std::vector<WhyLine> take_common(std::vector<std::vector<WhyLine>*> cells) {
  std::vector<WhyLine> out;
  if (cells.size() < 2) return out;
  const auto same = [](const WhyLine& a) {
    return [&a](const WhyLine& b) {
      return b.unit.empty() && a.name == b.name && a.base_text == b.base_text && a.head_text == b.head_text;
    };
  };
  for (const auto& line : *cells.front()) {
    if (!line.unit.empty()) continue;
    const bool everywhere = std::all_of(cells.begin(), cells.end(), [&](const std::vector<WhyLine>* lines) {
      return std::any_of(lines->begin(), lines->end(), same(line));
    });
    if (everywhere) out.push_back(line);
  }
  for (auto* lines : cells) {
    for (const auto& line : out) lines->erase(std::remove_if(lines->begin(), lines->end(), same(line)), lines->end());
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
