#include "report/detail/cell_names.hpp"

#include <algorithm>

#include "report/detail/escape.hpp"

namespace stepgauge::report::detail {
namespace {

struct Parts {
  std::vector<std::string> segments;
  std::string hash;  ///< with its "-"
};

Parts split(const std::string& id) {
  Parts out;
  const auto dash = id.rfind('-');
  const auto end = dash == std::string::npos ? id.size() : dash;
  out.hash = id.substr(end);
  std::size_t begin = 0;
  while (true) {
    const auto slash = id.find('/', begin);
    if (slash == std::string::npos || slash >= end) break;
    out.segments.push_back(id.substr(begin, slash - begin));
    begin = slash + 1;
  }
  out.segments.push_back(id.substr(begin, end - begin));
  return out;
}

bool has(const Parts& parts, const std::string& segment) {
  return std::find(parts.segments.begin() + 1, parts.segments.end(), segment) != parts.segments.end();
}

}  // namespace

CellNames cell_names(const std::vector<std::string>& ids, std::size_t width) {
  const bool fits = std::all_of(ids.begin(), ids.end(), [&](const std::string& id) { return columns(id) <= width; });
  if (fits || ids.size() < 2) return {ids, ""};
  std::vector<Parts> all;
  for (const auto& id : ids) all.push_back(split(id));
  std::vector<std::string> shared;
  for (std::size_t i = 1; i < all.front().segments.size(); ++i) {
    const auto& segment = all.front().segments[i];
    if (std::all_of(all.begin(), all.end(), [&](const Parts& parts) { return has(parts, segment); })) {
      shared.push_back(segment);
    }
  }
  CellNames out;
  for (const auto& segment : shared) out.common += (out.common.empty() ? "" : " ") + segment;
  for (const auto& parts : all) {
    std::string name = parts.segments.front();
    for (std::size_t i = 1; i < parts.segments.size(); ++i) {
      if (std::find(shared.begin(), shared.end(), parts.segments[i]) == shared.end()) {
        name += "/" + parts.segments[i];
      }
    }
    out.names.push_back(name + parts.hash);
  }
  return out;
}

}  // namespace stepgauge::report::detail
