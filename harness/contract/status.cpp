#include "contract/status.hpp"

#include <array>
#include <utility>

namespace stepgauge {
namespace {
constexpr std::array<std::pair<Status, std::string_view>, 10> names{{
    {Status::ok, "ok"},
    {Status::oom, "oom"},
    {Status::crashed, "crashed"},
    {Status::hung, "hung"},
    {Status::incorrect, "incorrect"},
    {Status::ineffective, "ineffective"},
    {Status::unsteady, "unsteady"},
    {Status::disturbed, "disturbed"},
    {Status::unsupported, "unsupported"},
    {Status::skipped, "skipped"},
}};
}  // namespace

std::string_view to_string(Status status) {
  for (const auto& [value, name] : names) {
    if (value == status) return name;
  }
  return "crashed";
}

std::optional<Status> status_from_string(std::string_view text) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

const std::vector<Status>& all_statuses() {
  static const std::vector<Status> all = [] {
    std::vector<Status> out;
    for (const auto& entry : names) out.push_back(entry.first);
    return out;
  }();
  return all;
}

}  // namespace stepgauge
