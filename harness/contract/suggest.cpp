#include "contract/suggest.hpp"

#include <algorithm>
#include <numeric>

#include "contract/lower_case.hpp"

namespace stepgauge {
namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view text, std::span<const std::string> known) {
  const auto wanted = lower_case(text.substr(0, 128));
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  for (const auto& name : known) {
    const auto distance = edit_distance(wanted, lower_case(name));
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best_distance < std::max<std::size_t>(1, std::max(wanted.size(), best.size())) ? best : "";
}

std::string suggestion(std::string_view text, std::span<const std::string> known) {
  const auto near = nearest_name(text, known);
  if (!near.empty()) return "; did you mean \"" + near + "\"?";
  std::string out = "; known: ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i == 12) return out + ", ...";
    out += (i == 0 ? "" : ", ") + known[i];
  }
  return known.empty() ? "" : out;
}

}  // namespace stepgauge
