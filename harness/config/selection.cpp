#include "config/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_error.hpp"
#include "config/glob.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config {
namespace {

std::string without_hash(const Cell& cell) {
  const auto suffix = cell.hash.size() + 1;
  return cell.id.size() > suffix ? cell.id.substr(0, cell.id.size() - suffix) : cell.id;
}

/// Marks the cells that match any of the globs.
std::vector<char> marked(const std::vector<Cell>& cells, const std::vector<std::string>& globs, const char* option) {
  std::vector<std::string> ids;
  for (const auto& cell : cells) ids.push_back(without_hash(cell));
  std::vector<char> out(cells.size(), 0);
  for (const auto& glob : globs) {
    bool matched = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!glob_match(glob, cells[i].id) && !glob_match(glob, ids[i])) continue;
      out[i] = 1;
      matched = true;
    }
    if (!matched && !ids.empty()) {
      throw ConfigError("", 0, 0,
                        fmt::format("{} \"{}\": matches none of {} cells; the nearest is \"{}\"", option, glob,
                                    cells.size(), nearest_to_glob(glob, ids)));
    }
  }
  return out;
}

}  // namespace

std::string nearest_to_glob(const std::string& glob, const std::vector<std::string>& names) {
  // As much of each name as the glob says in plain letters is compared.
  constexpr std::size_t most = 2000;
  const auto literal = glob.substr(0, glob.find_first_of("*?["));
  const auto& wanted = literal.empty() ? glob : literal;
  std::vector<std::string> heads;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    heads.push_back(is_glob(glob) ? names[i].substr(0, wanted.size()) : names[i]);
  const auto near = nearest_name(wanted, heads);
  if (near.empty()) return names.front();
  return names[static_cast<std::size_t>(std::find(heads.begin(), heads.end(), near) - heads.begin())];
}

std::vector<Cell> select(const std::vector<Cell>& cells, const Selection& selection) {
  const auto wanted = marked(cells, selection.only, selection.only_name);
  const auto dropped = marked(cells, selection.skip, "--skip");
  std::vector<Cell> out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if ((selection.only.empty() || wanted[i] != 0) && dropped[i] == 0) out.push_back(cells[i]);
  }
  if (out.empty()) throw ConfigError("", 0, 0, fmt::format("--only and --skip leave none of {} cells", cells.size()));
  return out;
}

}  // namespace stepgauge::config
