// The journal: what was measured is never lost, and never half there without a word.
#include "store/journal.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>
#include <system_error>

#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;
using JournalTest = Scratch;

LaunchRecord record_with(double value) {
  auto record = make_launch(make_cell(), 0);
  record.metrics["throughput"] = {value, "samples/s", ""};
  record.metrics["mfu"] = {std::nullopt, "", "no peak known for \"Test\", n\u00fcchtern\nlinebreak"};
  record.detail["samples"] = {{"step_ms", {0.1, 1e-300, 123456789.123456789, value}}};
  return record;
}

TEST_F(JournalTest, NumbersAndTextSurviveExactly) {
  const auto path = folder_ / "j.jsonl";
  const std::vector<double> values{0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2.5e-7, 4.97};
  {
    Journal journal(path);
    for (const double value : values) journal.append(record_with(value));
  }
  const auto scan = scan_journal(path);
  ASSERT_EQ(scan.records.size(), values.size());
  EXPECT_TRUE(scan.torn.empty());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(to_json(scan.records[i]), to_json(record_with(values[i])));
    EXPECT_EQ(std::signbit(*scan.records[i].metrics.at("throughput").value), std::signbit(values[i]));
  }
}

TEST_F(JournalTest, NotFiniteIsRefusedAndNothingIsWritten) {
  const auto path = folder_ / "j.jsonl";
  Journal journal(path);
  for (const double bad :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(journal.append(record_with(bad)), ContractError);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
}

TEST_F(JournalTest, BadLineIsNamed) {
  const auto path = folder_ / "j.jsonl";
  Journal(path).append(record_with(1));
  const auto good = read(path);
  const auto expect = [&](const std::string& line, const std::string& words) {
    write(path, good + line + "\n" + good);
    const auto error = error_of([&] { scan_journal(path); });
    EXPECT_NE(error.find("j.jsonl:2"), std::string::npos) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
  };
  expect(good.substr(0, good.size() / 2), "not valid JSON");
  expect(R"({"schema":"stepgauge.record","version":1,"scope":"launch","x":NaN})", "not valid JSON");
  expect(R"({"schema":"stepgauge.record","version":1,"scope":"launch","x":1e999})", "not valid JSON");
  expect(R"({"schema":"stepgauge.record","version":99,"scope":"launch"})", "version 99");
  expect(R"({"schema":"stepgauge.record","version":1,"scope":"rank"})", "scope");
  expect("", "not valid JSON");
}

TEST_F(JournalTest, NullMetricIsAbsentNotZero) {
  const auto path = folder_ / "j.jsonl";
  auto json = to_json(record_with(1));
  json["metrics"]["throughput"] = {{"value", nullptr}, {"unit", "samples/s"}};
  write(path, dump_line(json) + "\n");
  EXPECT_FALSE(scan_journal(path).records.at(0).metrics.at("throughput").value.has_value());
}

TEST_F(JournalTest, FullDiskIsAnErrorThatNamesThePath) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  std::filesystem::create_symlink("/dev/full", folder_ / "full.jsonl");
  Journal journal(folder_ / "full.jsonl");
  try {
    journal.append(record_with(1));
    FAIL() << "no error on a full disk";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOSPC);
    EXPECT_NE(std::string(error.what()).find("full.jsonl"), std::string::npos) << error.what();
  }
}

// A write that stops half-way (here: the largest file size allowed) is rolled back.
TEST_F(JournalTest, HalfWrittenLineIsCutOff) {
  const auto path = folder_ / "j.jsonl";
  Journal journal(path);
  journal.append(record_with(1));
  const auto size = std::filesystem::file_size(path);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{static_cast<rlim_t>(size + 20), old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  EXPECT_THROW(journal.append(record_with(2)), std::system_error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  journal.append(record_with(3));
  EXPECT_EQ(scan_journal(path).records.size(), 2u);
}

}  // namespace
}  // namespace stepgauge::store
