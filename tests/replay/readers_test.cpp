// Logs of every writer, good, cut, mixed and hostile. Wrong here, and a run's only evidence is refused or misread.
#include "replay/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"

namespace stepgauge::replay {
namespace {

using test::Folder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string complaint(const std::vector<std::string>& paths) {
  try {
    read_logs(paths);
  } catch (const NothingUsable& error) {
    return error.what();
  }
  return "";
}

const Op& op_of(const CollectiveLog& log, std::size_t stream, std::size_t record, std::size_t group = 0) {
  return log.ops.at(log.groups.at(group).streams.at(stream).records.at(record).op);
}

TEST(OwnFormat, EveryField) {
  const Folder folder;
  folder.write(
      "rank1.collectives.jsonl",
      R"({"schema":"stepgauge.collective_log","version":1,"rank":1,"world_size":4,"clock":"unix_ns","base_ns":1000})"
      "\n[7,\"reduce_scatter\",1024,99,\"backward\",5,25,\"bfloat16\",512]\n"
      "[8,\"barrier\",0,null,null,30,null]\n"
      "[9, \"all_reduce\", 8, 0, \"a \\\"b\\\"\", 40, 50, \"float32\", 2, \"tp\"]\n"
      "[3,\"send\",64,0,\"forward\",60,61,\"float32\",16]\n");
  const auto log = folder.read();
  ASSERT_EQ(log.groups.size(), 2u);
  const auto& stream = log.groups[0].streams.at(0);
  EXPECT_EQ(stream.rank, 1);
  EXPECT_EQ(stream.first(), 7);
  EXPECT_EQ(stream.last(), 8);
  EXPECT_EQ(op_of(log, 0, 0), (Op{Kind::reduce_scatter, 1024, 512, 99, "bfloat16", "backward"}));
  EXPECT_EQ(stream.records[0].enter, 1005);
  EXPECT_EQ(stream.records[0].end, 1025);
  EXPECT_EQ(stream.records[1].end, not_ended);
  EXPECT_EQ(log.groups[1].name, "tp");
  EXPECT_EQ(op_of(log, 0, 0, 1).call_site, "a \"b\"");
  EXPECT_EQ(log.world_size, 4);
  ASSERT_EQ(log.ranks.size(), 1u);
  EXPECT_EQ(log.ranks[0].collectives, 3u);
  EXPECT_EQ(log.ranks[0].messages, 1u);
  EXPECT_EQ(log.ranks[0].bytes, 1024 + 8 + 64);
  EXPECT_EQ(log.unread_lines, 0u);
}

TEST(OwnFormat, WhereNobodySawTheEndNoneIsMissing) {
  const Folder folder;
  folder.write("a", R"({"schema":"stepgauge.collective_log","version":1,"rank":0,"world_size":2,"ends":"unknown"})"
                    "\n[0,\"all_reduce\",8,1,\"backward\",5,null]\n");
  folder.write("b", R"({"schema":"stepgauge.collective_log","version":1,"rank":1,"world_size":2,"ends":"host"})"
                    "\n[0,\"all_reduce\",8,1,\"backward\",5,null                ,\"float32\",2]\n");
  const auto log = folder.read();
  EXPECT_EQ(log.groups.at(0).streams.at(0).records.at(0).end, not_known);
  EXPECT_EQ(log.groups.at(0).streams.at(1).records.at(0).end, not_ended);
}

TEST(OwnFormat, WhereTimesAreADevicesAnEntryWithoutAnEndIsTheHostsCall) {
  const Folder folder;
  folder.write("a", R"({"schema":"stepgauge.collective_log","version":1,"rank":0,"world_size":1,"ends":"device"})"
                    "\n[0,\"all_reduce\",8,1,\"backward\",5,9]\n[1,\"all_reduce\",8,1,\"backward\",6,null]\n");
  const auto log = folder.read();
  const auto& records = log.groups.at(0).streams.at(0).records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].enter, 5);
  EXPECT_EQ(records[1].enter, not_known) << "a host runs ahead of its device: the two are not compared";
  EXPECT_EQ(records[1].end, not_ended);
}

TEST(OwnFormat, RanksOneBehindTheOtherInOneFile) {
  const Folder folder;
  const auto path = folder.write("all.jsonl", test::rank_log(0, 2, 20) + test::rank_log(1, 2, 20));
  const auto log = read_logs({path});
  ASSERT_EQ(log.groups.at(0).streams.size(), 2u);
  EXPECT_EQ(log.groups[0].streams[1].records.size(), 20u);
}

TEST(OwnFormat, ACutLineAndGarbageCostOnlyThemselves) {
  const Folder folder;
  auto text = test::rank_log(0, 1, 5);
  text.insert(text.find("[2,"), "garbage\n[1.5,\"all_reduce\",1,0,\"\",1,2]\n[1]\n[\n\xff\xfe\n");
  folder.write("rank0.collectives.jsonl", text + "[5,\"all_red");
  const auto log = folder.read();
  EXPECT_EQ(log.groups.at(0).streams.at(0).records.size(), 5u);
  EXPECT_EQ(log.unread_lines, 5u);
  EXPECT_THAT(log.first_unread, HasSubstr("rank0.collectives.jsonl:4: "));
  EXPECT_THAT(log.notes, ElementsAre(HasSubstr("rank0.collectives.jsonl:12: the line is cut off")));
}

TEST(OwnFormat, OtherVersionsAndBrokenHeadersAreSaid) {
  const Folder folder;
  auto other = test::rank_log(0, 2, 3);
  other.replace(other.find("\"version\":1"), 11, "\"version\":7");
  folder.write("rank0.collectives.jsonl", other);
  EXPECT_THAT(complaint({folder.path()}),
              HasSubstr("rank0.collectives.jsonl:1: collective log version 7, this program reads up to 1"));
  folder.write("rank1.collectives.jsonl", test::rank_log(1, 2, 3));
  const auto log = folder.read();
  EXPECT_EQ(log.ranks.size(), 1u);
  EXPECT_THAT(log.notes, Contains(HasSubstr("version 7")));
  const Folder bad;
  bad.write("rank0", test::header(5, 2) + test::line({}));
  EXPECT_THAT(complaint({bad.path()}), HasSubstr("rank 5 of 2 ranks"));
}

TEST(OwnFormat, ExtremeNumbersAreNoTimes) {
  const Folder folder;
  folder.write("rank0", test::header(0, 1) +
                            "[0,\"all_reduce\",9223372036854775807,0,\"\",-9223372036854775808,9223372036854775807]\n"
                            "[1,\"all_reduce\",9223372036854775807,0,\"\",1,2]\n"
                            "[99999999999999999999,\"all_reduce\",1,0,\"\",1,2]\n"
                            "[-1,\"all_reduce\",1,0,\"\",1,2]\n[9223372036854775807,\"all_reduce\",1,0,\"\",1,2]\n");
  const auto log = folder.read();
  EXPECT_EQ(log.groups.at(0).streams.at(0).records.size(), 2u);
  EXPECT_EQ(log.unread_lines, 3u);
  view({}, log);
}

TEST(OwnFormat, VeryLongLinesAndDeepNestingAreOneBadLine) {
  const Folder folder;
  folder.write("rank0", test::header(0, 1) + std::string(2'000'000, '[') + "\n" + test::line({}) + "[" +
                            std::string(3'000, '{') + "\n");
  const auto log = folder.read();
  EXPECT_EQ(log.groups.at(0).streams.at(0).records.size(), 1u);
}

TEST(OwnFormat, TheSameRankTwiceIsTakenOnce) {
  const Folder folder;
  folder.write("a.jsonl", test::rank_log(0, 1, 5));
  folder.write("b.jsonl", test::rank_log(0, 1, 5));
  const auto log = folder.read();
  EXPECT_EQ(log.ranks.at(0).collectives, 5u);
  EXPECT_THAT(log.notes, Contains(HasSubstr("left out, rank 0 was read from")));
}

TEST(OwnFormat, MoreThanTheLimitIsRefused) {
  const Folder folder;
  folder.write("rank0", test::rank_log(0, 1, 50));
  ReadLimits limits;
  limits.records = 20;
  EXPECT_THROW(read_logs({folder.path()}, limits), ContractError);
}

TEST(FlightRecorder, ARealPickleOfTwoHealthyRanks) {
  const auto log = read_logs({test::data("flight_recorder_healthy")});
  ASSERT_EQ(log.groups.size(), 1u);
  ASSERT_EQ(log.groups[0].streams.size(), 2u);
  EXPECT_EQ(op_of(log, 0, 1).kind, Kind::all_reduce);
  EXPECT_EQ(op_of(log, 0, 1).bytes, 1024 * 256 * 4);
  EXPECT_EQ(op_of(log, 1, 0).kind, Kind::broadcast);
  EXPECT_TRUE(view({}, log).healthy());
}

TEST(FlightRecorder, ARealDumpOfARankThatStayedAway) {
  const auto shown = view({}, read_logs({test::data("flight_recorder_silent")}));
  ASSERT_EQ(shown.patterns.size(), 1u);
  EXPECT_EQ(shown.patterns[0].kind, PatternKind::silent);
  EXPECT_THAT(shown.patterns[0].ranks, ElementsAre(1));
  EXPECT_THAT(shown.patterns[0].text, HasSubstr("(all_reduce, 1.0 MiB); 1 rank waits in"));
}

/// As NCCL's process group dumps it.
Json nccl_entry(int sequence, const char* name, const char* state, bool p2p = false) {
  return {{"collective_seq_id", sequence},
          {"p2p_seq_id", 0},
          {"op_id", sequence},
          {"profiling_name", name},
          {"input_sizes", Json::array({Json::array({3, 4})})},
          {"input_dtypes", Json::array({"BFloat16"})},
          {"output_sizes", Json::array({Json::array({3, 4})})},
          {"state", state},
          {"is_p2p", p2p},
          {"process_group", Json::array({"0", "default_pg"})},
          {"time_created_ns", 1'000 + sequence},
          {"time_discovered_completed_ns", std::string(state) == "completed" ? Json(5'000 + sequence) : Json(nullptr)}};
}

std::string nccl_dump(const Json& entries) {
  return Json{{"version", "2.10"},
              {"entries", entries},
              {"nccl_version", "2.28"},
              {"pg_config", {{"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", "[0, 1, 2]"}}}}}}
      .dump();
}

TEST(FlightRecorder, StatesGroupsAndMessages) {
  const Folder folder;
  const auto done = nccl_entry(1, "nccl:_all_gather_base", "completed");
  const auto open = nccl_entry(2, "nccl:all_reduce", "started");
  folder.write("nccl_trace_rank_0",
               nccl_dump(Json::array({done, open, nccl_entry(2, "nccl:send 0->1", "scheduled", true)})));
  folder.write("nccl_trace_rank_2", nccl_dump(Json::array({done})));
  const auto log = folder.read();
  EXPECT_EQ(log.groups.at(0).name, "0 (default_pg)");
  EXPECT_EQ(log.groups[0].size, 3);
  EXPECT_EQ(log.groups[0].streams.at(1).rank, 2);
  EXPECT_EQ(op_of(log, 0, 0).kind, Kind::all_gather);
  EXPECT_EQ(op_of(log, 0, 0).bytes, 24);
  EXPECT_EQ(log.groups[0].streams[0].records[0].end, 5'001);
  EXPECT_EQ(log.groups[0].streams[0].records[1].end, not_ended);
  EXPECT_EQ(log.ranks.at(0).messages, 1u);
}

TEST(FlightRecorder, ACutDumpKeepsWhatStandsBefore) {
  const Folder folder;
  const auto whole = nccl_dump(
      Json::array({nccl_entry(1, "nccl:all_reduce", "completed"), nccl_entry(2, "nccl:all_reduce", "completed")}));
  folder.write("dump_rank_0.json", whole.substr(0, whole.rfind("\"profiling_name\"")));
  const auto log = folder.read();
  EXPECT_EQ(log.groups.at(0).streams.at(0).records.size(), 1u);
  EXPECT_THAT(log.notes, Contains(HasSubstr("what stands before it was read")));
}

TEST(FlightRecorder, WhatIsNoDumpIsSaid) {
  const Folder folder;
  folder.write("nccl_trace_rank_0",
               "\x80\x02"
               "cos\nsystem\n(X\x02\x00\x00\x00lstR.");
  EXPECT_THAT(complaint({folder.path()}), HasSubstr("the opcode GLOBAL is refused"));
  const Folder nameless;
  nameless.write("dump", nccl_dump(Json::array({nccl_entry(1, "nccl:all_reduce", "completed")})));
  EXPECT_THAT(complaint({nameless.path()}),
              HasSubstr("does not say its rank; expected it in the name, e.g. dump_rank_0"));
  const Folder old;
  old.write("rank0.json", R"({"version":"9.1","entries":[]})");
  EXPECT_THAT(complaint({old.path()}), HasSubstr("flight recorder version 9.1"));
  const Folder odd;
  odd.write(
      "rank0.json",
      R"({"entries":[1,{"profiling_name":3},{"profiling_name":"x","input_sizes":"a","collective_seq_id":1}],"version":"2.1"})");
  EXPECT_THAT(complaint({odd.path()}), HasSubstr("lines not understood"));
}

TEST(Detail, ARealMismatch) {
  const auto log = read_logs({test::data("detail_mismatch")});
  const auto shown = view({}, log);
  ASSERT_EQ(log.groups.size(), 1u) << "the error repeats what the ranks printed";
  ASSERT_EQ(shown.patterns.size(), 1u);
  EXPECT_EQ(shown.patterns[0].kind, PatternKind::mismatch);
  EXPECT_THAT(shown.patterns[0].text, HasSubstr("rank 1 runs all_reduce of 100 B instead of 80 B at 1"));
  EXPECT_EQ(shown.clocks, 0u);
}

TEST(Detail, ARealRankThatSkippedOneEndsAtTheFirstDifference) {
  const auto shown = view({}, read_logs({test::data("detail_skip")}));
  ASSERT_EQ(shown.patterns.size(), 1u);
  EXPECT_THAT(shown.patterns[0].text, HasSubstr("rank 1 runs all_reduce of 768 B instead of 512 B at 2"));
}

std::string fingerprint(int sequence, const std::string& type, const std::string& shape) {
  return "CollectiveFingerPrint(SequenceNumber=" + std::to_string(sequence) + ", OpType=" + type + ", TensorShape=[" +
         shape + "], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))";
}

TEST(Detail, TheErrorAloneIsEnough) {
  const Folder folder;
  folder.write(
      "out.log",
      "epoch 3\n[rank7]: RuntimeError: Detected mismatch between collectives on ranks. Rank 7 is running collective: " +
          fingerprint(3104, "ALLREDUCE", "20, 10") +
          ", but Rank 0 is running collective: " + fingerprint(3104, "BROADCAST", "1") + ".Collectives differ\n");
  const auto shown = view({}, folder.read());
  ASSERT_EQ(shown.patterns.size(), 1u);
  EXPECT_THAT(shown.patterns[0].text, HasSubstr("rank 7 runs all_reduce, 800 B instead of broadcast, 4 B at 3104"));
}

TEST(Detail, RanksAndGroupsMixedInOneFile) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 6; ++i) {
    for (const int rank : {1, 0, 2}) {
      const auto head = "[rank" + std::to_string(rank) + "]:[I1130 x.cpp:620] [Rank " + std::to_string(rank) +
                        "] Running collective: ";
      if (rank != 2 || i < 4) text += head + fingerprint(i, "ALLREDUCE", "16") + "\n";
      if (i >= 4 && rank != 2) text += head + fingerprint(i - 4, "_ALLGATHER_BASE", "8") + "\n";
    }
  }
  text += "[rank1]: CollectiveFingerPrint(OpType=REDUCE\nCollectiveFingerPrint(SequenceNumber=1, OpType=REDUCE)\n";
  folder.write("all.log", text);
  const auto log = folder.read();
  ASSERT_EQ(log.groups.size(), 2u);
  EXPECT_EQ(log.groups[0].streams.size(), 3u);
  EXPECT_EQ(log.groups[0].streams[2].last(), 3);
  EXPECT_EQ(log.unread_lines, 2u);
  EXPECT_THAT(log.first_unread, HasSubstr("all.log:21"));
  const auto shown = view({}, log);
  ASSERT_EQ(shown.patterns.size(), 1u);
  EXPECT_EQ(shown.patterns[0].kind, PatternKind::silent);
  EXPECT_THAT(shown.patterns[0].ranks, ElementsAre(2));
}

std::string nccl_line(const std::string& head, const char* name, const char* op_count, int count, const char* comm) {
  return head + " NCCL INFO " + name + ": opCount " + op_count + " sendbuff 0x7f0000 recvbuff 0x7f0000 count " +
         std::to_string(count) + " datatype 7 op 0 root 0 comm " + comm + " [nranks=2] stream 0x55\n";
}

TEST(Nccl, RanksFromTheInitialisation) {
  const Folder folder;
  std::string text;
  text +=
      "gpu1:20:22 [1] NCCL INFO ncclCommInitRankConfig comm 0xb0 rank 0 nranks 2 cudaDev 1 nvmlDev 1 busId 1 commId "
      "0xabc - Init COMPLETE\n";
  text +=
      "gpu1:10:12 [0] NCCL INFO ncclCommInitRankConfig comm 0xa0 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 0 commId "
      "0xabc - Init COMPLETE\n";
  for (const char* op_count : {"9", "a", "b"}) {
    text += nccl_line("gpu1:10:12 [0]", "AllReduce", op_count, 64, "0xa0");
    text += nccl_line("gpu1:20:22 [1]", "AllReduce", op_count, 64, "0xb0");
  }
  text += nccl_line("gpu1:20:22 [1]", "ReduceScatter", "c", 1024, "0xb0");
  text += nccl_line("gpu1:20:22 [1]", "Send", "d", 1024, "0xb0");
  text += "gpu1:20:22 [1] NCCL INFO AllReduce: opCount zz sendbuff\n";
  folder.write("job.log", text);
  const auto log = folder.read();
  ASSERT_EQ(log.groups.size(), 1u);
  EXPECT_EQ(log.groups[0].name, "nccl 0xabc");
  EXPECT_EQ(log.groups[0].streams.at(0).records.size(), 4u) << "rank 0 is the process that said so";
  EXPECT_EQ(log.groups[0].streams.at(1).first(), 9);
  EXPECT_EQ(op_of(log, 0, 3).kind, Kind::reduce_scatter);
  EXPECT_EQ(op_of(log, 0, 3).bytes, 4096);
  EXPECT_EQ(log.ranks.at(0).messages, 1u);
  EXPECT_EQ(log.unread_lines, 1u);
  const auto shown = view({}, log);
  ASSERT_EQ(shown.patterns.size(), 1u);
  EXPECT_THAT(shown.patterns[0].text,
              HasSubstr("rank 1 is silent: its last collective is 11 (all_reduce, 256 B); 1 rank waits in 12"));
}

TEST(Nccl, PrefixesAndFileNamesGiveRanks) {
  const Folder folder;
  folder.write("rank3.log", nccl_line("gpu1:10:12 [0]", "AllReduce", "0", 64, "0xa0"));
  folder.write("other.log", nccl_line("[rank5]:gpu2:10:12 [0]", "AllReduce", "0", 64, "0xa0"));
  const auto log = folder.read();
  ASSERT_EQ(log.ranks.size(), 2u);
  EXPECT_EQ(log.ranks[0].rank, 3);
  EXPECT_EQ(log.ranks[1].rank, 5);
  const Folder nameless;
  nameless.write("job.log", nccl_line("(Worker pid=1) gpu2:10:12 [0]", "AllReduce", "0", 64, "0xa0") +
                                nccl_line("(Worker pid=2) gpu2:11:12 [1]", "AllReduce", "0", 64, "0xb0"));
  const auto guessed = nameless.read();
  EXPECT_EQ(guessed.groups.at(0).streams.size(), 2u);
  EXPECT_THAT(guessed.notes, ElementsAre(HasSubstr("nothing says which rank")));
}

TEST(Files, WhatIsThereAndWhatIsNot) {
  EXPECT_THROW(read_logs({"/nowhere/at/all"}), ContractError);
  const Folder folder;
  EXPECT_THAT(complaint({folder.path()}), HasSubstr("no collective found in 0 files"));
  folder.write("empty", "");
  folder.write("binary", std::string("\x7f"
                                     "ELF\0\0",
                                     6));
  folder.write("text.log", "hello\n");
  folder.write("settings.json", "{\"a\": 1}\n");
  EXPECT_THAT(complaint({folder.path()}), HasSubstr("expected rank<N>.collectives.jsonl"));
  folder.write("rank0.collectives.jsonl", test::rank_log(0, 1, 3));
  const auto log = folder.read();
  EXPECT_EQ(log.files, 1u);
  EXPECT_EQ(log.ranks.at(0).collectives, 3u);
}

}  // namespace
}  // namespace stepgauge::replay
