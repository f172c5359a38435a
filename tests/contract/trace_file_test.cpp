// Trace files out: what a viewer or any other parser could not read is a trace lost.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "../support/temporary_folder.hpp"
#include "contract/trace_file.hpp"

namespace stepgauge {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t base = 1'700'000'000'123'456'789;
const Json head{{"schemaVersion", 1}, {"stepgauge", {{"trace_version", 1}}}};

class TraceFile : public testing::Test {
 protected:
  std::string path() const { return folder_ / "rank0.trace.json.gz"; }
  std::string text() const {
    const auto file = ::gzopen(path().c_str(), "rb");
    std::string out(1 << 20, '\0');
    out.resize(static_cast<std::size_t>(::gzread(file, out.data(), static_cast<unsigned>(out.size()))));
    ::gzclose(file);
    return out;
  }
  Json events() const { return parse_json(text(), path()).at("traceEvents"); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  test::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(TraceFile, KeepsEveryDigitOfTheTime) {
  TraceFileWriter file(path(), base, head);
  file.complete("kernel", "k", 0, 7, base + 1, base + 1'002'003);
  file.complete("kernel", "before the base", 0, 7, base - 1'500, base - 1'499);
  file.complete("kernel", "late", 0, 7, base + 86'400'000'000'001, base + 86'400'000'000'001);
  file.close();
  const auto out = text();
  EXPECT_NE(out.find("\"ts\":0.001,\"dur\":1002.002"), out.npos) << out;
  EXPECT_NE(out.find("\"ts\":-1.500,\"dur\":0.001"), out.npos) << out;
  EXPECT_NE(out.find("\"ts\":86400000000.001,\"dur\":0.000"), out.npos) << out;
  EXPECT_EQ(parse_json(out, path()).at("baseTimeNanoseconds"), base);
}

TEST_F(TraceFile, IsStrictJsonWhateverNamesAreMadeOf) {
  std::string control;
  for (char c = 0; c < 0x20; ++c) control += c;
  const std::vector<std::string> names{"plain", "quote \" and \\", control, "\x7f", "über → 𝄞", "", "/slash"};
  TraceFileWriter file(path(), 0, head);
  for (const auto& name : names) file.complete("cpu_op", name, 1, 2, 3000, 4000, R"({"bytes":5})");
  file.close();
  const auto all = events();
  ASSERT_EQ(all.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(all[i].at("name"), names[i]);
  EXPECT_EQ(all[0], Json({{"ph", "X"},
                          {"cat", "cpu_op"},
                          {"name", "plain"},
                          {"pid", 1},
                          {"tid", 2},
                          {"ts", 3.0},
                          {"dur", 1.0},
                          {"args", {{"bytes", 5}}}}));
}

TEST_F(TraceFile, ReplacesWhatIsNotUtf8) {
  TraceFileWriter file(path(), 0, head);
  for (const char* name :
       {"a\xff z", "cut \xe2\x86", "overlong \xc0\xaf", "surrogate \xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    file.complete("cpu_op", name, 1, 1, 0, 1);
  }
  file.close();
  const auto all = events();  // nlohmann refuses invalid UTF-8
  EXPECT_EQ(all[0].at("name"), "a\xef\xbf\xbd z");
  EXPECT_EQ(all[1].at("name"), "cut \xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(TraceFile, HasTheEventsOfTheFormat) {
  TraceFileWriter file(path(), 1000, head);
  file.counter("memory \"allocated\" (MiB)", 4, 2000, 12.5);
  file.counter("not a number", 4, 2000, std::nan(""));
  file.flow(9, 1, 2, 3000, 0, 7, 4000);
  file.name_process(1, "rank 0 host", "CPU", 0);
  file.name_thread(1, 2, "main", -1);
  file.close();
  const auto all = events();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[0].at("args"), Json({{"memory \"allocated\" (MiB)", 12.5}}));
  EXPECT_EQ(all[0].at("ts"), 1.0);
  EXPECT_EQ(all[1],
            Json({{"ph", "s"}, {"cat", "ac2g"}, {"name", "ac2g"}, {"pid", 1}, {"tid", 2}, {"ts", 2.0}, {"id", 9}}));
  EXPECT_EQ(all[2], Json({{"ph", "f"},
                          {"cat", "ac2g"},
                          {"name", "ac2g"},
                          {"pid", 0},
                          {"tid", 7},
                          {"ts", 3.0},
                          {"id", 9},
                          {"bp", "e"}}));
  EXPECT_EQ(all[3].at("args"), Json({{"name", "rank 0 host"}}));
  EXPECT_EQ(all[7].at("args"), Json({{"sort_index", -1}}));
}

TEST_F(TraceFile, AnEmptyTraceIsADocumentToo) {
  TraceFileWriter(path(), 0, head).close();
  EXPECT_TRUE(events().empty());
}

TEST_F(TraceFile, OneEventALine) {
  TraceFileWriter file(path(), 0, head);
  for (int i = 0; i < 3; ++i) file.complete("cpu_op", "a\nb", 1, 1, i, i + 1);
  file.close();
  const auto out = text();
  const auto events = out.substr(out.find("\"traceEvents\":["));
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 5);
}

// HolisticTraceAnalysis tells ranks apart by a regular expression that wants the blank.
TEST_F(TraceFile, TheHeadHasABlankBehindItsColons) {
  TraceFileWriter file(path(), 0, Json{{"distributedInfo", {{"rank", 3}, {"world_size", 4}}}});
  file.close();
  EXPECT_NE(text().find("\"rank\": 3"), std::string::npos);
}

TEST_F(TraceFile, AppearsOnlyWhenItIsWhole) {
  {
    TraceFileWriter file(path(), 0, head);
    file.complete("cpu_op", "op", 1, 1, 0, 1);
    EXPECT_FALSE(fs::exists(path()));
  }
  EXPECT_EQ(files(), 0u) << "without close() nothing stays";
  TraceFileWriter file(path(), 0, head);
  file.close();
  file.close();
  EXPECT_EQ(files(), 1u);
}

TEST_F(TraceFile, SaysWhereItCannotWrite) {
  EXPECT_THROW(TraceFileWriter((folder_ / "none" / "t.gz").string(), 0, head), std::system_error);
  EXPECT_THROW(TraceFileWriter(path(), 0, Json::array()), std::invalid_argument);
  EXPECT_EQ(files(), 0u);
}

TEST_F(TraceFile, AFullDiskIsAnErrorAndNoTrace) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  TraceFileWriter file(path(), 0, head);
  const rlimit small{16u << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  unsigned random = 1;
  const auto fill = [&] {
    for (int i = 0; i < 20'000; ++i) {
      random = random * 1664525 + 1013904223;
      file.complete("cpu_op", std::to_string(random), 1, 1, random, random + i);
    }
    file.close();
  };
  EXPECT_THROW(fill(), std::system_error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace stepgauge
