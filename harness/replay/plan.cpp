#include "replay/plan.hpp"

#include <algorithm>

#include "replay/detail/stream_patterns.hpp"

namespace stepgauge::replay {
namespace {

/// Over the ranks, of end - enter; null where no rank has both.
Json recorded_ms(std::vector<std::int64_t>& durations) {
  if (durations.empty()) return nullptr;
  const auto middle = durations.size() / 2;
  std::nth_element(durations.begin(), durations.begin() + static_cast<std::ptrdiff_t>(middle), durations.end());
  const auto upper = static_cast<double>(durations[middle]);
  if (durations.size() % 2 == 1) return upper / 1e6;
  const auto below = *std::max_element(durations.begin(), durations.begin() + static_cast<std::ptrdiff_t>(middle));
  return (static_cast<double>(below) + upper) / 2e6;
}

const Group& main_group(const CollectiveLog& log) {
  return *std::max_element(log.groups.begin(), log.groups.end(),
                           [](const Group& a, const Group& b) { return a.streams.size() < b.streams.size(); });
}

}  // namespace

Json plan_of(const CollectiveLog& log) {
  const auto& group = main_group(log);
  const auto compared = detail::compare_streams(group, log);
  const auto& columns = compared.columns;
  std::vector<std::vector<std::int64_t>> durations(columns.size());
  for (std::size_t i = 0; i < group.streams.size(); ++i) {
    const auto& stream = group.streams[i];
    detail::each_record(stream, columns, compared.deviations[i].usable, [&](std::size_t index, std::size_t at) {
      const auto& record = stream.records[index];
      const auto duration = record.timed() ? record.end - record.enter : -1;
      if (duration < 0) return;
      if (fits(log.ops[record.op], log.ops[columns[at].op])) durations[at].push_back(duration);
    });
  }
  auto collectives = Json::array();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& op = log.ops[columns[i].op];
    const auto known = [](std::int64_t value) { return value == not_known ? Json(nullptr) : Json(value); };
    collectives.push_back({{"sequence", columns[i].sequence},
                           {"kind", to_string(op.kind)},
                           {"bytes", known(op.bytes)},
                           {"dtype", op.dtype.empty() ? Json(nullptr) : Json(op.dtype)},
                           {"count", known(op.count)},
                           {"recorded_ms", recorded_ms(durations[i])}});
  }
  const auto ranks = static_cast<std::int64_t>(group.streams.size());
  const auto world_size = std::max({ranks, group.size, group.size == 0 ? log.world_size : 0});
  return {{"schema", plan_schema}, {"version", plan_version}, {"world_size", world_size}, {"collectives", collectives}};
}

}  // namespace stepgauge::replay
