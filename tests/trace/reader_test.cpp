// Trace files in: what they say is kept exactly, and what cannot be read is named with its place.
#include "trace/reader.hpp"

#include <gmock/gmock.h>

#include "contract/trace_file.hpp"
#include "trace/detail/trace_event.hpp"
#include "trace_files.hpp"

namespace stepgauge::trace {
namespace {

using test::document;
using test::event;
using test::gzip;
using testing::HasSubstr;

class Reader : public test::TraceFolder {};

const std::string own_head =
    R"("stepgauge":{"trace_version":1,"timeline":"device","rank":1,"world_size":2,"dropped":3,"event_step_ms":[1.5,2]},)"
    R"("baseTimeNanoseconds":1000,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],)";

TEST(Time, IsExact) {
  using detail::ns_of_us;
  EXPECT_EQ(ns_of_us("0"), 0);
  EXPECT_EQ(ns_of_us("1234567890123.456"), 1'234'567'890'123'456);
  EXPECT_EQ(ns_of_us("1700000000000000.001"), 1'700'000'000'000'000'001);  // a double would lose the last digits
  EXPECT_EQ(ns_of_us("-1.5"), -1500);
  EXPECT_EQ(ns_of_us("0.0004"), 0);
  EXPECT_EQ(ns_of_us("0.0005"), 1);
  EXPECT_EQ(ns_of_us("0.00049999999999999999999999"), 0);
  EXPECT_EQ(ns_of_us("1.25e3"), 1'250'000);
  EXPECT_EQ(ns_of_us("125E-2"), 1'250);
  EXPECT_EQ(ns_of_us("0e999"), 0);
  EXPECT_EQ(ns_of_us("1.000000000000000000000000000001"), 1000);
}

TEST(Time, IsANumberThatFits) {
  for (const char* text : {"", "-", ".5", "5.", "NaN", "nan", "Infinity", "-inf", "1e", "1e+", "0x10", "12 ", "1,5",
                           "1e19", "99999999999999999999999", "1e999999999999", "true", "--1"}) {
    EXPECT_EQ(detail::ns_of_us(text), std::nullopt) << text;
  }
}

TEST_F(Reader, OwnFile) {
  const auto timeline = read(document(
      event("user_annotation", "forward", "0", "50") + "," +
          event("gpu_user_annotation", "ProfilerStep#3", "10.000", "100.000") + "," +
          event("gpu_user_annotation", "forward", "10", "40") + "," +
          event("cuda_runtime", "cudaLaunchKernel", "1.000", "2.5", R"({"correlation":7})", 4321) + "," +
          event("kernel", "gemm", "20.001", "3.002",
                R"({"device":0,"stream":7,"correlation":7,"graph node id":12884901890,"grid":[1,2,3],"x":{"y":[]}})") +
          "," + event("gpu_memcpy", "Memcpy HtoD", "30", "1", R"({"stream":8,"bytes":4096})") + "," +
          event("gpu_memset", "Memset", "31", "1", R"({"stream":8,"bytes":16})") + "," +
          R"x({"ph":"C","name":"memory allocated (MiB)","pid":1,"ts":5,"args":{
  "memory allocated (MiB)" : 12.5}},)x" +
          R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"x"}},{"ph":"s","id":1,"ts":1,"cat":"ac2g"},)" +
          event("python_function", "f", "0", "1") + "," +
          R"({"ph":"i","ts":1,"name":"[memory]","cat":"cpu_instant_event"})",
      own_head));
  EXPECT_EQ(timeline.rank, 1);
  EXPECT_EQ(timeline.world_size, 2);
  EXPECT_EQ(timeline.dropped, 3);
  EXPECT_EQ(timeline.event_step_ms, (std::vector<double>{1.5, 2}));
  EXPECT_EQ(timeline.device_name, "NVIDIA H200");
  EXPECT_FALSE(timeline.foreign);
  EXPECT_FALSE(timeline.host_time);
  ASSERT_EQ(timeline.activities.size(), 3u);
  const auto& kernel = timeline.activities[0];
  EXPECT_EQ(kernel.time, (Interval{21'001, 24'003}));
  EXPECT_EQ(timeline.names[kernel.name], "gemm");
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.correlation, 7u);
  EXPECT_EQ(kernel.graph_node, 12884901890u);
  EXPECT_EQ(timeline.activities[1].kind, ActivityKind::memcpy);
  EXPECT_EQ(timeline.activities[1].type, ActivityClass::copy);
  EXPECT_EQ(timeline.activities[1].bytes, 4096);
  EXPECT_EQ(timeline.activities[2].kind, ActivityKind::memset);
  ASSERT_EQ(timeline.calls.size(), 1u);
  EXPECT_EQ(timeline.calls[0].time, (Interval{2'000, 4'500}));
  EXPECT_EQ(timeline.calls[0].thread, 4321);
  ASSERT_EQ(timeline.steps.size(), 1u);
  EXPECT_EQ(timeline.steps[0].time, (Interval{11'000, 111'000}));
  ASSERT_EQ(timeline.phases.size(), 1u);
  EXPECT_EQ(timeline.phases[0].name, "forward");
  ASSERT_EQ(timeline.device_phases.size(), 1u);
  ASSERT_EQ(timeline.counters.size(), 1u);
  EXPECT_EQ(timeline.counters[0].at, 6'000);
  EXPECT_EQ(timeline.counters[0].value, 12.5);
  EXPECT_EQ(timeline.ignored, (std::map<std::string, std::int64_t>{{"python_function", 1}, {"cpu_instant_event", 1}}));
}

TEST_F(Reader, TimesInQuotesAndInAnyOrderOfFields) {
  const auto timeline = read(document(
      R"({"args":{"stream":"9","correlation":"5"},"dur":"0.250","ts":"1700000000000000.125","name":"k","cat":"kernel","ph":"X"})"));
  EXPECT_EQ(timeline.activities.at(0).time, (Interval{1'700'000'000'000'000'125, 1'700'000'000'000'000'375}));
  EXPECT_EQ(timeline.activities[0].stream, 9);
  EXPECT_EQ(timeline.activities[0].correlation, 5u);
}

TEST_F(Reader, TheHeadMayFollowTheEvents) {
  const auto timeline = read(R"({"traceEvents":[)" + event("kernel", "k", "1", "1") +
                             R"(],"baseTimeNanoseconds":5000,"distributedInfo":{"rank":3,"world_size":8}})");
  EXPECT_EQ(timeline.rank, 3);
  EXPECT_EQ(timeline.world_size, 8);
  EXPECT_EQ(timeline.activities.at(0).time, (Interval{6'000, 7'000}));
}

TEST_F(Reader, SynchronisationIsNoActivity) {
  const auto timeline =
      read(document(event("kernel", "Context Sync", "0", "9") + "," + event("kernel", "Stream Sync", "0", "9") + "," +
                    event("gpu_memcpy", "Event Sync", "0", "9") + "," + event("cuda_sync", "Event Sync", "0", "9") +
                    "," + event("kernel", "k", "1", "1")));
  ASSERT_EQ(timeline.activities.size(), 1u);
  EXPECT_EQ(timeline.ignored, (std::map<std::string, std::int64_t>{{"synchronisation", 3}, {"cuda_sync", 1}}));
}

TEST_F(Reader, ClassesOfC26) {
  const auto timeline =
      read(document(event("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float", "1", "1") + "," +
                    event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "2", "1") + "," +
                    event("kernel", "nccldevkernel_allreduce", "3", "1") + "," + event("kernel", "gemm", "4", "1")));
  std::vector<ActivityClass> types;
  for (const auto& activity : timeline.activities) types.push_back(activity.type);
  const auto communication = ActivityClass::communication;
  EXPECT_EQ(types, (std::vector{communication, communication, communication, ActivityClass::compute}));
}

TEST_F(Reader, KinetoSteps) {
  // One mark for each stream; the device's windows leave the wait between steps to nobody.
  const auto timeline =
      read(document(event("user_annotation", "ProfilerStep#1", "0", "20") + "," +
                    event("user_annotation", "ProfilerStep#2", "20", "20") + "," +
                    event("gpu_user_annotation", "ProfilerStep#1", "5", "20", "{}", 7) + "," +
                    event("gpu_user_annotation", "ProfilerStep#1", "8", "20", "{}", 20) + "," +
                    event("gpu_user_annotation", "ProfilerStep#2", "30", "10", "{}", 7) + "," +
                    event("gpu_user_annotation", "ProfilerStep#4", "50", "10", "{}", 7) + "," +
                    event("kernel", "k", "6", "1") + "," + event("user_annotation", "## forward ##", "1", "5") + "," +
                    event("user_annotation", "Optimizer.step#SGD.step", "9", "5") + "," +
                    event("user_annotation", "my own", "9", "5")));
  EXPECT_TRUE(timeline.foreign);
  ASSERT_EQ(timeline.steps.size(), 3u);
  EXPECT_EQ(timeline.steps[0].time, (Interval{5'000, 30'000}));
  EXPECT_EQ(timeline.steps[1].time, (Interval{30'000, 40'000})) << "step 3 was not recorded";
  EXPECT_EQ(timeline.steps[2].time, (Interval{50'000, 60'000}));
  ASSERT_EQ(timeline.phases.size(), 2u);
  EXPECT_EQ(timeline.phases[0].name, "forward");
  EXPECT_EQ(timeline.phases[1].name, "optimizer");
  EXPECT_EQ(timeline.ignored.at("user_annotation"), 1);
}

TEST_F(Reader, HostStepsWhereTheDeviceHasNone) {
  const auto timeline =
      read(document(event("user_annotation", "ProfilerStep#1", "0", "20") + "," + event("kernel", "k", "6", "1")));
  ASSERT_EQ(timeline.steps.size(), 1u);
  EXPECT_EQ(timeline.steps[0].time, (Interval{0, 20'000}));
}

TEST_F(Reader, CapitalCategoriesOfOldFiles) {
  const auto timeline =
      read("[" + event("Kernel", "k", "1", "1") + "," + event("Memcpy", "m", "2", "1") + "," +
           event("Runtime", "cudaLaunchKernel", "0", "1") + "," + event("Operator", "ProfilerStep#1", "0", "9") + "," +
           event("Operator", "aten::add", "0", "1") + "]");
  EXPECT_EQ(timeline.activities.size(), 2u);
  EXPECT_EQ(timeline.calls.size(), 2u);
  EXPECT_EQ(timeline.steps.size(), 1u);
}

TEST_F(Reader, OperatorsOfAHostTimeline) {
  const auto timeline = read(document(
      event("user_annotation", "ProfilerStep#0", "0", "100") + "," +
          event("cpu_op", "aten::linear", "10", "30", "{}", 5) + "," +
          event("cpu_op", "aten::addmm", "12", "20", "{}", 5) + "," +
          event("user_annotation", "gloo:all_reduce", "50", "30", R"({"sequence":4,"bytes":1024,"bucket":2,"rank":0})"),
      R"("stepgauge":{"trace_version":1,"timeline":"host","rank":0,"world_size":2},)"));
  EXPECT_TRUE(timeline.host_time);
  ASSERT_EQ(timeline.activities.size(), 3u);
  EXPECT_EQ(timeline.activities[0].kind, ActivityKind::host_op);
  EXPECT_EQ(timeline.activities[0].stream, 5);
  EXPECT_EQ(timeline.activities[2].kind, ActivityKind::collective);
  EXPECT_EQ(timeline.activities[2].type, ActivityClass::communication);
  EXPECT_TRUE(timeline.calls.empty());
  ASSERT_EQ(timeline.collectives.size(), 1u);
  const auto& collective = timeline.collectives[0];
  EXPECT_EQ(collective.sequence, 4);
  EXPECT_EQ(collective.kind, "all_reduce");
  EXPECT_EQ(collective.bytes, 1024);
  EXPECT_EQ(collective.bucket, 2);
  EXPECT_EQ(collective.device, (Interval{50'000, 80'000}));
}

std::string call_and_kernel(int correlation, int call_us, int kernel_us, const char* name = "ncclDevKernel_AllReduce") {
  return event("cuda_runtime", "cudaLaunchKernelExC", std::to_string(call_us), "2",
               fmt::format(R"({{"correlation":{}}})", correlation)) +
         "," +
         event("kernel", name, std::to_string(kernel_us), "10",
               fmt::format(R"({{"stream":13,"correlation":{}}})", correlation));
}

TEST_F(Reader, ACollectiveIsJoinedWithTheKernelThatItsCallLaunched) {
  // The second call's kernel runs first, on another stream: order alone would pair them wrongly.
  const auto timeline = read(
      document(event("user_annotation", "nccl:all_reduce", "10", "10", R"({"sequence":0,"bytes":8,"bucket":1})") + "," +
                   event("user_annotation", "nccl:broadcast", "30", "10", R"({"sequence":1,"bytes":4,"bucket":-1})") +
                   "," + call_and_kernel(1, 12, 500) + "," + call_and_kernel(2, 33, 100, "ncclDevKernel_Broadcast") +
                   "," + call_and_kernel(3, 35, 111, "ncclDevKernel_Broadcast"),
               own_head));
  ASSERT_EQ(timeline.collectives.size(), 2u);
  EXPECT_EQ(timeline.collectives[0].device, (Interval{501'000, 511'000}));
  EXPECT_EQ(timeline.collectives[1].device, (Interval{101'000, 122'000}))
      << "from the first of its kernels to the last";
  EXPECT_EQ(timeline.collectives[1].kind, "broadcast");
  EXPECT_EQ(timeline.collectives[0].host, (Interval{11'000, 21'000}));
}

TEST_F(Reader, KernelsWithoutACallAreJoinedByOrderOrNotAtAll) {
  const auto calls = event("user_annotation", "nccl:all_reduce", "10", "10") + "," +
                     event("user_annotation", "nccl:all_reduce", "30", "10");
  const auto kernels = event("kernel", "ncclDevKernel_AllReduce", "50", "5") + "," +
                       event("kernel", "ncclDevKernel_AllReduce", "60", "5");
  const auto both = read(document(calls + "," + kernels));
  EXPECT_EQ(both.collectives.at(1).device, (Interval{60'000, 65'000}));
  EXPECT_EQ(both.collectives[1].sequence, 1);
  const auto one_too_many =
      read(document(calls + "," + kernels + "," + event("kernel", "ncclDevKernel_AllReduce", "70", "5")));
  for (const auto& collective : one_too_many.collectives) EXPECT_EQ(collective.device, Interval{});
  const auto before_its_call = read(document(calls + "," + event("kernel", "ncclDevKernel_AllReduce", "5", "5") + "," +
                                             event("kernel", "ncclDevKernel_AllReduce", "60", "5")));
  for (const auto& collective : before_its_call.collectives) EXPECT_EQ(collective.device, Interval{});
}

TEST_F(Reader, CollectivesOfKinetoComeFromTheKernels) {
  const std::string args =
      R"({"stream":13,"correlation":4,"Collective name":"_allgather_base","In msg nelems":1000,"dtype":"BFloat16","Group size":8,"Seq":17})";
  const auto timeline = read(document(event("cuda_runtime", "cudaLaunchKernelExC", "3", "2", R"({"correlation":4})") +
                                      "," + event("kernel", "ncclDevKernel_AllGather", "50", "5", args) + "," +
                                      event("user_annotation", "nccl:_all_gather_base", "2", "5")));
  EXPECT_EQ(timeline.world_size, 8);
  ASSERT_EQ(timeline.collectives.size(), 1u);
  const auto& collective = timeline.collectives[0];
  EXPECT_EQ(collective.kind, "all_gather");
  EXPECT_EQ(collective.bytes, 2000);
  EXPECT_EQ(collective.sequence, 17);
  EXPECT_EQ(collective.device, (Interval{50'000, 55'000}));
  EXPECT_EQ(collective.host, (Interval{3'000, 5'000}));
}

TEST_F(Reader, OneDeviceOfAFile) {
  const auto timeline = read(document(
      event("kernel", "a", "1", "1", R"({"device":1})") + "," + event("kernel", "b", "2", "1", R"({"device":2})"),
      R"("deviceProperties":[{"id":0,"name":"zero"},{"id":1,"name":"one"}],)"));
  EXPECT_EQ(timeline.activities.size(), 1u);
  EXPECT_EQ(timeline.device_name, "one");
  EXPECT_EQ(timeline.ignored.at("kernel on device 2"), 1);
}

TEST_F(Reader, WhatChromeForgives) {
  const auto kernel = event("kernel", "k", "1", "1");
  for (const auto& text : {"[" + kernel + "]", "[" + kernel, "[" + kernel + ",", "[" + kernel + ",]",
                           "[\n" + kernel + ",\n]\n", document(kernel + ",")}) {
    EXPECT_EQ(read(text).activities.size(), 1u) << text;
  }
  EXPECT_TRUE(read("[]").activities.empty());
  EXPECT_TRUE(read("[").activities.empty());
  EXPECT_EQ(read_trace(write("t.json.gz", gzip("[" + kernel))).at(0).activities.size(), 1u);
}

TEST_F(Reader, RefusesWhatIsNoTrace) {
  const auto kernel = event("kernel", "k", "1", "1");
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {"  \n", "no text"},
      {"{}", "no \"traceEvents\""},
      {R"({"schemaVersion":1})", "no \"traceEvents\""},
      {"<!DOCTYPE html><html></html>", "expected '{' or '['"},
      {"hello", "expected '{' or '['"},
      {std::string("\x7f"
                   "ELF\0\0",
                   6),
       "expected '{' or '['"},
      {R"({"traceEvents":{}})", "expected an array"},
      {R"({"traceEvents":[1]})", "event 1: expected an object"},
      {R"({"traceEvents":[],"traceEvents":[]})", "stands twice"},
      {R"({"traceEvents":[)" + kernel, "cut off"},
      {R"({"traceEvents":[)" + kernel + ",", "cut off"},
      {"[" + kernel.substr(0, 30), "cut off"},
      {document(kernel).substr(0, 60), "cut off"},
      {document(kernel) + "x", "other data follow"},
      {document("{}"), "event 1: no \"ph\""},
      {document(kernel + "," + event("kernel", "k", "NaN", "1")), "found \"NaN\""},
      {document(event("kernel", "k", "1", "Infinity")), "\"dur\": expected a time"},
      {document(event("kernel", "k", "\"soon\"", "1")), "found \"soon\""},
      {document(event("kernel", "k", "[]", "1")), "\"ts\": expected a time"},
      {document(event("kernel", "k", "1e30", "1")), "\"ts\": expected a time"},
      {document(kernel + "," + event("kernel", "k", "1", "-1")), "event 2: \"dur\" is negative"},
      {document(R"({"ph":"X","cat":"kernel","name":"k","ts":1})"), "event 1: no \"dur\""},
      {document(R"({"ph":"X","cat":"kernel","name":"k","dur":1})"), "event 1: no \"ts\""},
      {document(kernel, R"("baseTimeNanoseconds":"x",)"), "whole number"},
      {document(kernel, R"("stepgauge":{"trace_version":2},)"), "newer"},
      {document(kernel, R"("stepgauge":{"trace_version":1,"timeline":"device"},)"), "\"world_size\" is missing"},
      {document(kernel, R"("stepgauge":{"trace_version":1,"timeline":"side","rank":0,"world_size":1},)"),
       "found \"side\""},
      {document(kernel, R"("stepgauge":{"trace_version":1,"timeline":"host","rank":-1,"world_size":1},)"), "\"rank\""},
      {document(kernel, R"("stepgauge":{"trace_version":1,"world_size":1,"ranks":[]},)"), "\"ranks\" is empty"},
  };
  for (const auto& [text, words] : cases) EXPECT_THAT(refusal(text), HasSubstr(words)) << text.substr(0, 100);
  for (const char* words : {"cut off", "at byte "}) EXPECT_THAT(refusal("{\"traceEvents\":["), HasSubstr(words));
}

TEST_F(Reader, RefusesWhatIsNoFile) {
  EXPECT_THROW(read_trace(folder), TraceError);
  EXPECT_THROW(read_trace(folder / "none"), TraceError);
  EXPECT_THROW(read_trace("/dev/null"), TraceError);
}

TEST_F(Reader, DamagedGzip) {
  std::string events;
  for (int i = 0; i < 5000; ++i)
    events += (i > 0 ? "," : "") + event("kernel", "k" + std::to_string(i * 7919), std::to_string(10 * i), "3.25");
  const auto whole = gzip(document(events));
  EXPECT_EQ(refusal(whole), "");
  for (const double part : {0.0001, 0.3, 0.999}) {
    const auto cut = whole.substr(0, 10 + static_cast<std::size_t>(part * static_cast<double>(whole.size() - 10)));
    EXPECT_THAT(refusal(cut), HasSubstr("cut off: the file ends after")) << part;
  }
  EXPECT_THAT(refusal(whole + "junk"), HasSubstr("other data follow the end of the gzip data"));
  EXPECT_THAT(refusal(whole + std::string(600, '\0')), HasSubstr("other data follow the end of the gzip data"));
  auto flipped = whole;
  for (std::size_t i = flipped.size() / 2; i < flipped.size() / 2 + 50; ++i)
    flipped[i] = static_cast<char>(~flipped[i]);
  EXPECT_NE(refusal(flipped), "");
  auto wrong_sum = whole;
  wrong_sum[wrong_sum.size() - 6] = static_cast<char>(~wrong_sum[wrong_sum.size() - 6]);
  EXPECT_THAT(refusal(wrong_sum), HasSubstr("damaged gzip data"));
}

TEST_F(Reader, EveryCutOfAFileIsAnError) {
  const auto text = document(
      event("kernel", "k", "1", "1") + "," + event("gpu_user_annotation", "ProfilerStep#1", "0", "9"), own_head);
  for (std::size_t size = 0; size + 1 < text.size(); ++size) EXPECT_NE(refusal(text.substr(0, size)), "") << size;
}

TEST_F(Reader, TooManyEvents) {
  const auto kernel = event("kernel", "k", "1", "1");
  EXPECT_EQ(refusal("[" + kernel + "," + kernel + "]", {2}), "");
  EXPECT_THAT(refusal("[" + kernel + "," + kernel + "," + kernel + "]", {2}), HasSubstr("more than 2 events"));
  write("rank0.trace.json", "[" + kernel + "," + kernel + "]");
  write("rank1.trace.json", R"({"distributedInfo":{"rank":1},"traceEvents":[)" + kernel + "]}");
  EXPECT_EQ(read_launch_traces(folder, {3}).size(), 2u);
  EXPECT_THROW(read_launch_traces(folder, {2}), TraceError) << "the limit is that of the launch";
}

TEST_F(Reader, LaunchFolder) {
  EXPECT_THROW(read_launch_traces(folder), TraceError);
  const auto rank = [&](int number) {
    return gzip(R"({"distributedInfo":{"rank":)" + std::to_string(number) + R"(,"world_size":11},"traceEvents":[]})");
  };
  write("merged.trace.json.gz", rank(5));
  EXPECT_EQ(read_launch_traces(folder).at(0).rank, 5);
  write("rank10.trace.json.gz", rank(10));
  write("rank2.trace.json.gz", rank(2));
  write("rank2.json", "{}");
  const auto all = read_launch_traces(folder);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].rank, 2);
  EXPECT_EQ(all[1].rank, 10);
  EXPECT_THAT(all[1].origin, HasSubstr("rank10.trace.json.gz"));
  write("rank3.trace.json.gz", rank(2));
  EXPECT_THROW(read_launch_traces(folder), TraceError) << "two files of one rank";
}

TEST_F(Reader, ARunFolderIsNoLaunchFolder) {
  std::filesystem::create_directories(folder / "launches" / "one");
  try {
    read_launch_traces(folder);
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("launches"));
  }
}

TEST_F(Reader, WhatTheWriterWrites) {
  const auto path = (folder / "rank0.trace.json.gz").string();
  constexpr std::int64_t base = 1'700'000'000'000'000'001;
  TraceFileWriter file(path, base,
                       {{"stepgauge", {{"trace_version", 1}, {"timeline", "device"}, {"rank", 0}, {"world_size", 1}}}});
  file.complete("kernel", "name \"x\" \n ü", 0, 7, base + 7, base + 1'000'000'007, R"({"stream":3,"correlation":1})");
  file.close();
  const auto timeline = read_trace(path).at(0);
  EXPECT_EQ(timeline.activities.at(0).time, (Interval{base + 7, base + 1'000'000'007}));
  EXPECT_EQ(timeline.names.at(0), "name \"x\" \n ü");
}

}  // namespace
}  // namespace stepgauge::trace
