#include "report/detail/communication.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "contract/loose_json.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"

namespace stepgauge::report::detail {

std::string used_setting(const CellResults& cell, const char* name) {
  const auto& used = loose::part(loose::part(last_part(cell, "settings"), name), "used");
  return used.is_string() ? printable(used.get<std::string>()) : "";
}

std::string transports_text(const CellResults& cell) {
  // "p2p (24 channels: 0->1, 1->0), shm (...)"
  const auto used = used_setting(cell, "transport");
  std::vector<std::string> families;
  for (std::size_t begin = 0; begin < used.size();) {
    const auto open = used.find(" (", begin);
    if (open == std::string::npos) break;
    families.push_back(used.substr(begin, open - begin));
    const auto close = used.find("), ", open);
    begin = close == std::string::npos ? used.size() : close + 3;
  }
  return fmt::format("{}", fmt::join(families, " + "));
}

std::optional<double> communication_number(const CellResults& cell, const std::vector<const char*>& path) {
  const auto* value = &last_part(cell, "communication");
  for (const auto* key : path) value = &loose::part(*value, key);
  return value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<double> sweep_number(const CellResults& cell, double bytes, const char* key) {
  for (const auto& point : loose::list(last_part(cell, "communication"), "sweep")) {
    if (loose::number(point, "bytes") == bytes) return loose::number(point, key);
  }
  return std::nullopt;
}

const Json& topology_check(const CellResults& cell) {
  static const Json none;
  for (auto launch = cell.launches.rbegin(); launch != cell.launches.rend(); ++launch) {
    if (const auto& found = loose::part(launch->detail, "topology_check"); found.is_object()) return found;
  }
  return none;
}

std::vector<std::string> texts_of(const Json& value, const char* key) {
  std::vector<std::string> out;
  const auto& items = loose::part(value, key);
  if (!items.is_array()) return out;
  for (const auto& item : items) {
    if (item.is_string()) out.push_back(printable(item.get<std::string>()));
  }
  return out;
}

}  // namespace stepgauge::report::detail
