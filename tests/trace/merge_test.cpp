// One file of all ranks: what is in the ranks' files is in it, each event at its rank, on one clock.
#include "trace/merge.hpp"

#include "contract/json_io.hpp"
#include "timelines.hpp"
#include "trace/analysis.hpp"
#include "trace_files.hpp"

namespace stepgauge::trace {
namespace {

using test::ms;
using test::us;

class Merge : public test::TraceFolder {
 protected:
  std::string path() const { return folder / "merged.trace.json.gz"; }

  Json document() const {
    const auto file = ::gzopen(path().c_str(), "rb");
    std::string out(8 << 20, '\0');
    out.resize(static_cast<std::size_t>(::gzread(file, out.data(), static_cast<unsigned>(out.size()))));
    ::gzclose(file);
    return parse_json(out, path());
  }
};

/// A rank of two: 4 steps, each with a kernel, an all-reduce and a copy; `ahead` is what its clock is ahead of rank
/// 0's.
RankTimeline rank(int number, std::int64_t ahead) {
  RankTimeline out;
  out.rank = number;
  out.world_size = 2;
  out.device_name = "NVIDIA H200";
  out.dropped = number;
  out.event_step_ms = {1, 1, 1, 1};
  const std::int64_t start = 1'700'000'000'000'000'000 + ahead;
  std::uint32_t correlation = 0;
  for (int step = 0; step < 4; ++step) {
    const auto at = start + step * ms;
    test::add_step(out, {at, at + ms});
    out.phases.push_back({{at - 100 * us, at}, "backward"});
    out.device_phases.push_back({{at, at + 900 * us}, "backward"});
    const auto launch = [&](Interval time, const char* name, std::int32_t stream, ActivityKind kind) -> Activity& {
      const auto begin = at - 90 * us + correlation++ % 3 * 20 * us;
      test::add_call(out, {begin, begin + 10 * us}, "cudaLaunchKernel", correlation);
      auto& activity = test::add(out, time, name, stream, kind);
      activity.correlation = correlation;
      return activity;
    };
    launch({at + 1, at + 400 * us}, "gemm", 7, ActivityKind::kernel);
    launch({at + 300 * us - number * 50 * us, at + 500 * us}, "ncclDevKernel_AllReduce", 13, ActivityKind::kernel);
    launch({at + 600 * us, at + 700 * us}, "Memcpy HtoD", 7, ActivityKind::memcpy).bytes = 1024;
    auto& node = test::add(out, {at + 800 * us, at + 900 * us}, "graph kernel");
    node.graph_node = 5;
    node.correlation = 77'000;
    const auto& reduce = out.activities[out.activities.size() - 3].time;
    out.collectives.push_back({step, "all_reduce", 4096, step % 2, {at - 71 * us, at - 59 * us}, reduce});
  }
  out.counters.push_back({start + 5, "memory allocated (MiB)", 12.5});
  test::sort_activities(out);
  return out;
}

void expect_same(const RankTimeline& a, const RankTimeline& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.world_size, b.world_size);
  EXPECT_EQ(a.host_time, b.host_time);
  EXPECT_EQ(a.foreign, b.foreign);
  EXPECT_EQ(a.device_name, b.device_name);
  EXPECT_EQ(a.dropped, b.dropped);
  EXPECT_EQ(a.event_step_ms, b.event_step_ms);
  EXPECT_EQ(a.clock_shift, b.clock_shift);
  ASSERT_EQ(a.activities.size(), b.activities.size());
  for (std::size_t i = 0; i < a.activities.size(); ++i) {
    const auto &x = a.activities[i], &y = b.activities[i];
    EXPECT_EQ(x.time, y.time) << i;
    EXPECT_EQ(a.names[x.name], b.names[y.name]);
    EXPECT_EQ(std::tie(x.kind, x.type, x.correlation, x.graph_node, x.bytes),
              std::tie(y.kind, y.type, y.correlation, y.graph_node, y.bytes));
  }
  ASSERT_EQ(a.calls.size(), b.calls.size());
  for (std::size_t i = 0; i < a.calls.size(); ++i) EXPECT_EQ(a.calls[i].time, b.calls[i].time);
  for (const auto spans : {&RankTimeline::steps, &RankTimeline::phases, &RankTimeline::device_phases}) {
    ASSERT_EQ((a.*spans).size(), (b.*spans).size());
    for (std::size_t i = 0; i < (a.*spans).size(); ++i) {
      EXPECT_EQ((a.*spans)[i].time, (b.*spans)[i].time);
      EXPECT_EQ((a.*spans)[i].name, (b.*spans)[i].name);
    }
  }
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    const auto &x = a.collectives[i], &y = b.collectives[i];
    EXPECT_EQ(std::tie(x.sequence, x.kind, x.bytes, x.bucket), std::tie(y.sequence, y.kind, y.bytes, y.bucket));
    EXPECT_EQ(x.host, y.host);
    EXPECT_EQ(x.device, y.device);
  }
  ASSERT_EQ(a.counters.size(), b.counters.size());
  for (std::size_t i = 0; i < a.counters.size(); ++i) EXPECT_EQ(a.counters[i].at, b.counters[i].at);
}

TEST_F(Merge, IsReadBackAsTheRanksThatItIsMadeOf) {
  std::vector<RankTimeline> ranks{rank(0, 0), rank(1, 123'456'789)};
  const auto alignment = align(ranks);
  ASSERT_TRUE(alignment);
  apply(*alignment, ranks);
  EXPECT_EQ(ranks[1].clock_shift, -123'456'789);
  write_merged(path(), ranks, alignment);
  const auto again = read_trace(path());
  ASSERT_EQ(again.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) expect_same(ranks[i], again[i]);
  EXPECT_EQ(break_down(again[1]).total.overlap, break_down(ranks[1]).total.overlap);
}

TEST_F(Merge, EveryEventTellsItsRank) {
  std::vector<RankTimeline> ranks{rank(0, 0), rank(1, 0)};
  write_merged(path(), ranks, std::nullopt);
  const auto all = document();
  const auto& entries = all.at("stepgauge").at("ranks");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].at("pid_offset"), 1'000'000);
  EXPECT_EQ(entries[1].at("clock_shift_ns"), 0);
  std::map<std::string, int> names;
  int of_rank_1 = 0;
  for (const auto& event : all.at("traceEvents")) {
    const auto pid = event.at("pid").get<std::int64_t>();
    ASSERT_TRUE(pid >= 0 && pid < 2'000'000);
    of_rank_1 += pid / 1'000'000 == 1;
    if (event.at("name") == "process_name") ++names[event.at("args").at("name")];
    if (event.at("name") == "nccl:all_reduce") {
      EXPECT_EQ(event.at("args").at("rank"), pid / 1'000'000);
    }
  }
  EXPECT_EQ(of_rank_1 * 2, static_cast<int>(all.at("traceEvents").size()));
  EXPECT_EQ(names, (std::map<std::string, int>{
                       {"rank 0 host", 1}, {"rank 0 NVIDIA H200", 1}, {"rank 1 host", 1}, {"rank 1 NVIDIA H200", 1}}));
}

TEST_F(Merge, ArrowsJoinACallWithWhatItLaunched) {
  std::vector<RankTimeline> ranks{rank(0, 0), rank(1, 0)};
  write_merged(path(), ranks, std::nullopt);
  std::map<std::uint64_t, std::string> arrows;
  const auto all = document();
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("ph") == "s" || event.at("ph") == "f") arrows[event.at("id")] += event.at("ph").get<std::string>();
  }
  EXPECT_EQ(arrows.size(), 24u) << "3 launches in 4 steps on 2 ranks; graph nodes have none";
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, "sf") << id;
}

TEST_F(Merge, HostTimelines) {
  RankTimeline host;
  host.host_time = true;
  host.world_size = 2;
  test::add_step(host, {0, ms});
  test::add(host, {0, 100 * us}, "aten::linear", 5, ActivityKind::host_op);
  test::add(host, {200 * us, 300 * us}, "all_reduce", 0, ActivityKind::collective).bytes = 64;
  host.collectives.push_back({0, "all_reduce", 64, -1, {200 * us, 300 * us}, {200 * us, 300 * us}});
  auto other = host;
  other.rank = 1;
  write_merged(path(), {host, other}, std::nullopt);
  const auto again = read_trace(path());
  ASSERT_EQ(again.size(), 2u);
  expect_same(other, again[1]);
}

TEST_F(Merge, SaysWhereItCannotWrite) {
  EXPECT_THROW(write_merged((folder / "none" / "m.gz").string(), {rank(0, 0)}, std::nullopt), std::system_error);
  EXPECT_THROW(write_merged(path(), {}, std::nullopt), std::invalid_argument);
}

TEST_F(Merge, EventsOfNoRankAreRefused) {
  const std::string head =
      R"("stepgauge":{"trace_version":1,"timeline":"device","rank":0,"world_size":2,"ranks":[)"
      R"({"rank":0,"pid_offset":0,"timeline":"device"},{"rank":1,"pid_offset":1000000,"timeline":"device"}]})";
  const auto of = [](std::int64_t pid) { return test::event("kernel", "k", "1", "1", "{}", 7, pid); };
  EXPECT_EQ(refusal(test::document(of(0) + "," + of(1'000'001), head + ",")), "");
  for (const std::int64_t pid : {2'000'000, -1}) {
    EXPECT_NE(refusal(test::document(of(0) + "," + of(pid), head + ",")).find("event 2: \"pid\""), std::string::npos);
  }
  EXPECT_NE(refusal("{\"traceEvents\":[" + of(0) + "]," + head + "}").find("must stand before"), std::string::npos);
}

}  // namespace
}  // namespace stepgauge::trace
