#include "worker/parallel/last_collectives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "contract/json_io.hpp"
#include "contract/plural.hpp"

namespace stepgauge::worker {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::milliseconds(500);

Json to_json(const std::vector<LastCollective>& collectives) {
  auto out = Json::array();
  for (const auto& one : collectives) out.push_back({one.sequence, one.kind, one.bytes});
  return out;
}

std::vector<LastCollective> collectives_from(const Json& value) {
  std::vector<LastCollective> out;
  for (const auto& one : value)
    out.push_back({one.at(0).get<std::int64_t>(), one.at(1).get<std::string>(), one.at(2).get<std::int64_t>()});
  return out;
}

/// Whether the key came in time.
bool wait_until(c10d::Store& store, const std::string& key, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  try {
    store.wait({key}, std::max(left, std::chrono::milliseconds(1)));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void LastCollectives::add(const char* kind, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  slots_[static_cast<std::size_t>(count_++ % kept)] = {kind, bytes};
}

std::vector<LastCollective> LastCollectives::now() const {
  const std::lock_guard lock(mutex_);
  std::vector<LastCollective> out;
  for (auto i = std::max<std::int64_t>(0, count_ - kept); i < count_; ++i) {
    const auto& slot = slots_[static_cast<std::size_t>(i % kept)];
    out.push_back({i, slot.kind, slot.bytes});
  }
  return out;
}

std::string first_difference(const std::vector<std::vector<LastCollective>>& by_rank) {
  using Call = std::pair<std::string, std::int64_t>;
  std::map<std::int64_t, std::map<Call, std::vector<std::size_t>>> calls;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const auto& one : by_rank[rank]) calls[one.sequence][{one.kind, one.bytes}].push_back(rank);
  }
  const auto differs =
      std::find_if(calls.begin(), calls.end(), [](const auto& item) { return item.second.size() > 1; });
  if (differs == calls.end()) return "";
  std::vector<std::pair<Call, std::vector<std::size_t>>> ways(differs->second.begin(), differs->second.end());
  std::stable_sort(ways.begin(), ways.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::string> parts;
  for (const auto& [call, ranks] : ways) {
    parts.push_back(fmt::format("{} of {} bytes on {}", call.first, call.second, numbered("rank", ranks)));
  }
  return fmt::format("collective {} differs: {}", differs->first, fmt::join(parts, ", "));
}

std::string compare_through(c10d::Store& store, const std::vector<LastCollective>& mine, int rank, int ranks) {
  const auto end = Clock::now() + patience;
  store.set(fmt::format("last/{}", rank), dump_line(to_json(mine)));
  std::vector<std::vector<LastCollective>> by_rank(static_cast<std::size_t>(ranks));
  std::vector<int> answered;
  for (int other = 0; other < ranks; ++other) {
    const auto key = fmt::format("last/{}", other);
    if (!wait_until(store, key, end)) continue;
    by_rank[static_cast<std::size_t>(other)] = collectives_from(parse_json(store.get_to_str(key), key));
    answered.push_back(other);
  }
  store.set(fmt::format("compared/{}", rank), "done");
  if (rank == 0) {  // the store ends with rank 0
    for (const int other : answered) wait_until(store, fmt::format("compared/{}", other), end);
  }
  return first_difference(by_rank);
}

}  // namespace stepgauge::worker
