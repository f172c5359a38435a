#include "stub_trace.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "contract/trace_file.hpp"

namespace stepgauge::stub {
namespace {

constexpr int steps = 5, collectives_per_step = 3;

/// A host timeline: an operator, then collectives one after the other. A late rank computes while the others wait in
/// them and enters each of them shortly before its end.
void write_trace(const std::string& path, const Options& options, const Cell& cell, int rank) {
  const auto step_ns = static_cast<std::int64_t>(options.step_ms * 1e6);
  const auto exposed_ns = static_cast<std::int64_t>(*options.exposed_comm / 100 * static_cast<double>(step_ns));
  const auto slot_ns = exposed_ns / collectives_per_step;
  const bool late = options.late_rank == rank;
  auto step_ms = Json::array();
  for (int i = 0; i < steps; ++i) step_ms.push_back(options.step_ms);
  TraceFileWriter file(
      path, 0,
      {{"schemaVersion", 1},
       {"deviceProperties", Json::array()},
       {"distributedInfo", {{"backend", cell.ddp.backend}, {"rank", rank}, {"world_size", cell.ddp.ranks}}},
       {"stepgauge",
        {{"trace_version", 1},
         {"timeline", "host"},
         {"rank", rank},
         {"world_size", cell.ddp.ranks},
         {"dropped", 0},
         {"event_step_ms", step_ms}}}});
  int sequence = 0;
  for (int step = 0; step < steps; ++step) {
    const auto begin = step * step_ns, end = begin + step_ns;
    file.complete("user_annotation", fmt::format("ProfilerStep#{}", step), 1, 1, begin, end);
    file.complete("user_annotation", "forward", 1, 1, begin, end);
    file.complete("cpu_op", "aten::mm", 1, 1, begin, end - exposed_ns);
    for (int i = 0; i < collectives_per_step; ++i) {
      const auto from = end - exposed_ns + i * slot_ns, to = from + slot_ns;
      const auto entry = late ? to - slot_ns / 20 : from;
      if (late) file.complete("cpu_op", "aten::mm", 1, 1, from, entry);
      file.complete(
          "user_annotation", fmt::format("{}:all_reduce", cell.ddp.backend), 1, 2, entry, to,
          fmt::format(R"({{"sequence": {}, "bytes": 1048576, "bucket": {}, "rank": {}}})", sequence++, i, rank));
    }
  }
  file.close();
}

}  // namespace

void leave_inside(const Options& options, const Cell& cell, int rank, RankRecord& record) {
  if (const char* log = std::getenv("NCCL_DEBUG_FILE"); log != nullptr && rank == 0 && !options.nccl_log.empty())
    write_text_file(log, read_text_file(options.nccl_log));
  const char* path = std::getenv("STEPGAUGE_TRACE");
  if (path == nullptr || !options.exposed_comm) return;
  write_trace(path, options, cell, rank);
  record.detail["trace"] = {{"steps", steps}, {"step_ms", std::vector<double>(steps, options.step_ms)}};
}

}  // namespace stepgauge::stub
