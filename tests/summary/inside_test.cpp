// The traced pass as metrics, the transport that NCCL tells, and settings that did not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../trace/timelines.hpp"
#include "summary/effective.hpp"
#include "summary/launch_summary.hpp"
#include "summary/timeline_summary.hpp"

namespace stepgauge::summary {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using trace::test::ms;

/// `steps` steps of 100 ms: compute 0-60, NCCL 50-80, a copy 80-90, idle 90-100.
trace::RankTimeline timeline(int rank, int world, std::int64_t shift = 0, int steps = 4) {
  trace::RankTimeline out;
  out.rank = rank;
  out.world_size = world;
  for (int i = 0; i < steps; ++i) {
    const auto at = shift + i * 100 * ms;
    trace::test::add_step(out, {at, at + 100 * ms});
    trace::test::add(out, {at, at + 60 * ms}, "sm90_xmma_gemm_bf16bf16_bf16f32", 7);
    trace::test::add(out, {at + 50 * ms, at + 80 * ms}, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20);
    trace::test::add(out, {at + 80 * ms, at + 90 * ms}, "Memcpy HtoD", 7, trace::ActivityKind::memcpy);
    out.collectives.push_back(
        {i, "all_reduce", 1 << 20, 0, {at + 40 * ms, at + 41 * ms}, {at + 50 * ms, at + 80 * ms}});
    out.phases.push_back({{at, at + 100 * ms}, "forward"});
    out.event_step_ms.push_back(100);
  }
  trace::test::sort_activities(out);
  return out;
}

RankRecord rank_record(int rank) {
  RankRecord record;
  record.rank = rank;
  record.world_size = 2;
  record.detail["trace"] = {{"steps", 4}, {"step_ms", {100, 100, 102, 100}}};
  record.detail["settings"] = {{"set", {{"autocast", "BFloat16"}}},
                               {"used",
                                {{"parameter_type", "Float"},
                                 {"memory_format", "channels_last"},
                                 {"bucket_bytes", {1 << 20}},
                                 {"operator_types", {{"aten::mm", {{"BFloat16", 40}, {"Float", 1}}}}}}}};
  return record;
}

Cell bf16_cell() {
  Cell cell;
  cell.precision = "bf16";
  cell.memory_format = "channels_last";
  cell.ddp.ranks = 2;
  cell.ddp.backend = "nccl";
  return cell;
}

std::vector<trace::RankTimeline> two_ranks() {
  return {timeline(0, 2), timeline(1, 2, 5 * ms)};  // the same on a clock that is 5 ms ahead
}

TEST(TimelineSummary, PartsAndRatiosOfTheWorstRank) {
  auto timelines = two_ranks();
  const auto out = summarise_timelines(trace::analyse("", timelines), {rank_record(0), rank_record(1)}, {98, 100, 99});
  EXPECT_THAT(out.why_none, IsEmpty());
  EXPECT_DOUBLE_EQ(out.metrics.at("stall_ratio"), 40);
  EXPECT_DOUBLE_EQ(out.metrics.at("exposed_comm"), 20);
  EXPECT_DOUBLE_EQ(out.metrics.at("exposed_copy"), 10);
  EXPECT_DOUBLE_EQ(out.metrics.at("idle_ratio"), 10);
  EXPECT_THAT(out.metrics.at("overlap_ratio"), DoubleNear(100.0 / 3, 1e-9));
  EXPECT_DOUBLE_EQ(out.metrics.at("stall_article"), 0);  // 60 + 30 + 10 of 100: sums see no stall at all
  EXPECT_DOUBLE_EQ(out.metrics.at("collectives_per_step"), 1);
  EXPECT_DOUBLE_EQ(out.metrics.at("bytes_per_step"), 1);
  EXPECT_THAT(out.metrics.at("trace_overhead"), DoubleNear(100.0 / 99, 1e-9));
  EXPECT_DOUBLE_EQ(out.metrics.at("rank_skew"), 0);  // the clocks differ, the ranks do not
  EXPECT_EQ(out.detail["alignment"]["shift_ns"], Json({0, -5 * ms}));
  EXPECT_EQ(out.detail["ranks"].size(), 2u);
  EXPECT_EQ(out.detail["ranks"][0]["per_step"].size(), 4u);
}

TEST(TimelineSummary, ATracerThatSlowsTheStepsIsToldOf) {
  auto timelines = two_ranks();
  const std::vector<RankRecord> ranks{rank_record(0), rank_record(1)};
  auto out = summarise_timelines(trace::analyse("", timelines), ranks, {98, 100, 99});
  EXPECT_THAT(out.note, IsEmpty());
  EXPECT_NEAR(out.detail["stall_of_untraced"].get<double>(), 100 * (1 - 60.0 / 99), 1e-9);
  out = summarise_timelines(trace::analyse("", timelines), ranks, {50});  // traced: 100 ms, 60 of them compute
  EXPECT_DOUBLE_EQ(out.metrics.at("stall_ratio"), 40);
  EXPECT_DOUBLE_EQ(out.detail["stall_of_untraced"], -20);
  EXPECT_THAT(out.note, HasSubstr("2.00 times as long"));
}

TEST(TimelineSummary, WithoutATraceTheReasonIsTheWorkers) {
  std::vector<trace::RankTimeline> none;
  auto record = rank_record(0);
  record.detail["trace"]["absent"] = "CUPTI is in use by another tool in this process";
  EXPECT_THAT(summarise_timelines(trace::analyse("", none), {record}, {100}).why_none, HasSubstr("another tool"));
  record.detail.erase("trace");
  EXPECT_THAT(summarise_timelines(trace::analyse("", none), {record}, {100}).why_none, HasSubstr("wrote no trace"));
}

TEST(TimelineSummary, AnUnreliableTraceGivesNoNumberButSaysWhy) {
  auto timelines = two_ranks();
  timelines[1].dropped = 17;
  const auto out = summarise_timelines(trace::analyse("", timelines), {rank_record(0), rank_record(1)}, {100});
  EXPECT_THAT(out.why_none, HasSubstr("rank 1"));
  EXPECT_EQ(out.metrics.count("stall_ratio"), 0u);
  EXPECT_TRUE(out.detail.contains("unreliable"));
}

TEST(TimelineSummary, ARankWithoutATraceMakesItUnreliable) {
  std::vector<trace::RankTimeline> one{timeline(0, 2)};
  EXPECT_THAT(summarise_timelines(trace::analyse("", one), {rank_record(0), rank_record(1)}, {100}).why_none,
              HasSubstr("1 of 2 ranks"));
}

constexpr const char* nccl_log =
    "host:12:34 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
    "unrelated: Channel of thoughts via nothing\n"
    "host:12:34 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct\n"
    "host:12:34 [0] NCCL INFO Channel 02/0 : 1[1] -> 0[0] [send] via NET/Socket/0/Shared\n"
    "host:12:34 [0] NCCL INFO Channel 03/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
    "host:12:34 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"
    "Channel 04/0 : 0[0] -> ";

TEST(NcclLog, TransportsPerChannel) {
  const auto channels = nccl_channels(nccl_log);
  ASSERT_EQ(channels.size(), 4u);
  EXPECT_EQ(channels[0].from, "0");
  EXPECT_EQ(channels[0].to, "1");
  EXPECT_EQ(channels[0].transport, "P2P/CUMEM");
  EXPECT_THAT(transports_used(channels), ElementsAre(Pair("ib", 1), Pair("p2p", 1), Pair("shm", 1), Pair("socket", 1)));
  EXPECT_THAT(nccl_channels(""), IsEmpty());
}

NcclLog log_of(const std::vector<NcclChannel>& channels) {
  NcclLog log;
  log.channels = channels;
  return log;
}

std::string why_ineffective(const Cell& cell, const RankRecord& record, const std::vector<NcclChannel>& channels = {},
                            std::vector<trace::RankTimeline> timelines = two_ranks()) {
  return ineffective_reason(judge_settings(cell, {record, record}, timelines, {log_of(channels)}));
}

TEST(Effective, WhatWasAskedForAndSeenIsNoComplaint) {
  EXPECT_EQ(why_ineffective(bf16_cell(), rank_record(0)), "");
}

TEST(Effective, PrecisionIsWhatMostHeavyOperatorsSee) {
  auto record = rank_record(0);
  record.detail["settings"]["used"]["operator_types"] = {{"aten::mm", {{"Float", 40}}}};
  EXPECT_THAT(why_ineffective(bf16_cell(), record), HasSubstr("precision: asked bf16, set autocast BFloat16"));
  EXPECT_THAT(why_ineffective(bf16_cell(), record), HasSubstr("used Float"));
  record.detail.erase("settings");  // nobody looked: no complaint
  EXPECT_EQ(why_ineffective(bf16_cell(), record), "");
}

TEST(Effective, Fp32ThatRanInTf32IsSeenInTheKernels) {
  auto cell = bf16_cell();
  cell.precision = "fp32";
  auto record = rank_record(0);
  record.detail["settings"]["used"]["operator_types"] = {{"aten::mm", {{"Float", 40}}}};
  EXPECT_EQ(why_ineffective(cell, record), "");
  auto timelines = two_ranks();
  for (auto& one : timelines) one.names.push_back("cutlass_80_tensorop_s1688gemm_256x128");
  EXPECT_THAT(why_ineffective(cell, record, {}, timelines), HasSubstr("precision: asked fp32"));
}

TEST(Effective, TransportIsWhatNcclSays) {
  auto cell = bf16_cell();
  const std::vector<NcclChannel> p2p{{"0", "1", "P2P/CUMEM"}}, shm{{"0", "1", "SHM/direct/direct"}},
      socket{{"0", "1", "NET/Socket/0"}};
  const auto asked = [&](const char* transport, const std::vector<NcclChannel>& used) {
    cell.ddp.transport = transport;
    return why_ineffective(cell, rank_record(0), used);
  };
  EXPECT_EQ(asked("auto", socket), "");
  EXPECT_EQ(asked("p2p", p2p), "");
  EXPECT_THAT(asked("p2p", shm), HasSubstr("transport: asked p2p"));
  EXPECT_EQ(asked("p2p_off", shm), "");
  EXPECT_THAT(asked("p2p_off", p2p), HasSubstr("used p2p (1 channels: 0->1)"));
  EXPECT_EQ(asked("socket", socket), "");
  EXPECT_THAT(asked("socket", shm), HasSubstr("transport"));
  EXPECT_THAT(asked("ib", socket), HasSubstr("transport: asked ib"));
  EXPECT_EQ(asked("socket", {}), "") << "no log: unknown, not ineffective";
}

TEST(Effective, BucketsArePlannedAndSeen) {
  auto record = rank_record(0);
  record.detail["settings"]["used"]["bucket_bytes"] = {1 << 19, 1 << 19};
  EXPECT_THAT(why_ineffective(bf16_cell(), record), HasSubstr("buckets"));
}

TEST(Effective, MemoryFormat) {
  auto record = rank_record(0);
  record.detail["settings"]["used"]["memory_format"] = "contiguous";
  EXPECT_THAT(why_ineffective(bf16_cell(), record), HasSubstr("memory_format: asked channels_last"));
}

}  // namespace
}  // namespace stepgauge::summary
