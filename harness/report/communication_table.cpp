#include "report/communication_table.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "contract/plural.hpp"
#include "report/detail/communication.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/table.hpp"

namespace stepgauge::report {
namespace {

/// From here on the start of a communicator is worth a line.
constexpr double long_start_s = 5;

std::string line(const std::string& text, std::size_t indent, const Style& style) {
  return detail::wrap(std::string(indent, ' ') + text, style.width, indent + 2) + "\n";
}

std::string alarms(const ResultSet& results, const Style& style) {
  std::string out;
  for (const auto& cell : results.cells) {
    const auto& check = detail::topology_check(cell);
    const auto findings = detail::texts_of(check, "findings");
    if (findings.empty()) continue;
    const auto stall = check.value("stall_ratio", Json()), alarm = check.value("alarm", Json());
    const auto number = [](const Json& value) { return value.is_number() ? value.get<double>() : 0; };
    out += line(detail::printable(cell.cell.id), 2, style) +
           line(fmt::format("{} {:.1f} %, above {:g} %: {}", detail::colored("stall", detail::Color::yellow, style),
                            number(stall), number(alarm), findings.front()),
                4, style);
    for (std::size_t i = 1; i < findings.size(); ++i) out += line(findings[i], 4, style);
  }
  return out.empty() ? out : "\nStall alarm: the topology was checked\n" + out;
}

/// Variable -> "the shell says "a", the cell "b"" -> cells.
std::string contradictions(const ResultSet& results, const Style& style) {
  std::map<std::string, std::set<std::string>> cells;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      const auto evidence = launch.detail.find("evidence");
      if (evidence == launch.detail.end() || !evidence->is_object()) continue;
      const auto conflicts = evidence->value("environment_conflicts", Json::array());
      for (const auto& one : conflicts) {
        if (!one.is_object()) continue;
        cells[fmt::format("{}: the shell says \"{}\", the cell \"{}\"", one.value("name", ""), one.value("shell", ""),
                          one.value("cell", ""))]
            .insert(cell.cell.id);
      }
    }
  }
  std::string out;
  for (const auto& [text, ids] : cells)
    out += line(fmt::format("{} ({})", detail::printable(text), plural(ids.size(), "cell")), 2, style);
  return out.empty() ? out : "\nShell and cell disagree; the cell wins\n" + out;
}

std::string long_starts(const ResultSet& results, const Style& style) {
  std::string out;
  for (const auto& cell : results.cells) {
    double longest_s = 0;
    const auto& ranks = detail::last_part(cell, "nccl_init");
    for (const auto& rank : ranks.is_array() ? ranks : Json::array()) {
      const auto total = rank.is_object() ? rank.value("total_s", Json()) : Json();
      if (total.is_number()) longest_s = std::max(longest_s, total.get<double>());
    }
    const auto& nccl = detail::last_part(cell, "nccl");
    const auto start = nccl.is_object() ? nccl.value("start", Json()) : Json();
    if (longest_s < long_start_s || !start.is_string()) continue;
    out += line(fmt::format("{}: {}", detail::printable(cell.cell.id), detail::printable(start.get<std::string>())), 2,
                style);
  }
  return out.empty() ? out : "\nCommunicators that took long to start\n" + out;
}

}  // namespace

std::string communication_table(const ResultSet& results, const Style& style) {
  return alarms(results, style) + contradictions(results, style) + long_starts(results, style);
}

}  // namespace stepgauge::report
