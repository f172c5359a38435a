#include "cli/collective_check.hpp"

#include <algorithm>

#include "replay/patterns.hpp"
#include "replay/reader.hpp"

namespace stepgauge::cli {
namespace {

constexpr std::size_t most_patterns = 10;

std::vector<std::string> patterns_of(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  std::vector<std::string> paths(names.size());
  std::transform(names.begin(), names.end(), paths.begin(), [&](const auto& name) { return (folder / name).string(); });
  const auto log = replay::read_logs(paths);
  auto found = replay::find_patterns(log, replay::clocks(log)).patterns;
  std::erase_if(found, [](const auto& pattern) { return !replay::explains_an_end(pattern.kind); });
  if (found.size() > most_patterns) found.resize(most_patterns);
  std::vector<std::string> out(found.size());
  std::transform(found.begin(), found.end(), out.begin(), [](const auto& pattern) { return pattern.text; });
  return out;
}

}  // namespace

void check_collectives(const std::filesystem::path& folder, const std::vector<std::string>& logs,
                       summary::LaunchFacts& facts) {
  if ((facts.status != Status::hung && facts.status != Status::crashed) || logs.empty()) return;
  try {
    const auto patterns = patterns_of(folder, logs);
    if (patterns.empty()) return;
    facts.reason += "; the logs of collectives: " + patterns.front();
    facts.evidence["collective_patterns"] = patterns;
  } catch (const std::exception& error) {
    facts.evidence["notes"].push_back(std::string("the logs of collectives cannot be read: ") + error.what());
  }
}

}  // namespace stepgauge::cli
