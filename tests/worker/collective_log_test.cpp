// The log of collectives: if these fail, a rank that hung or was killed leaves nothing to find the cause by.
#include "worker/parallel/collective_log.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "contract/json_io.hpp"

namespace stepgauge::worker {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const CollectiveShape bucket{"all_reduce", "float32", 4096, 1024, 77};
const CollectiveShape barrier{"barrier", nullptr, 0, 0, 0};

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(CollectiveLog::Clock::now().time_since_epoch()).count();
}

class CollectiveLogTest : public ::testing::Test {
 protected:
  const std::string path_ = ::testing::TempDir() + "rank3." + std::to_string(::getpid()) + ".collectives.jsonl";
  ~CollectiveLogTest() override { ::unlink(path_.c_str()); }

  CollectiveLog::Facts facts() const { return {3, 8, "gloo", "launch-7"}; }

  /// Every line parsed; a test fails where one is not whole.
  std::vector<Json> lines() const {
    std::vector<Json> out;
    const auto text = read_text_file(path_);
    EXPECT_TRUE(!text.empty() && text.back() == '\n')
        << "the last line is cut off: " << text.substr(text.rfind('\n') + 1);
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) out.push_back(parse_json(line, path_));
    return out;
  }
};

TEST_F(CollectiveLogTest, FormatIsTheDocumentedOne) {
  const auto before = unix_ns();
  {
    CollectiveLog log(path_, facts());
    log.end(*log.enter(bucket));
    log.phase("first_step");
    log.end(*log.enter(barrier));
    log.enter(bucket);
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], (Json{{"schema", "stepgauge.collective_log"},
                          {"version", 1},
                          {"rank", 3},
                          {"world_size", 8},
                          {"clock", "unix_ns"},
                          {"backend", "gloo"},
                          {"ends", "host"},
                          {"launch", "launch-7"}}));
  const auto enter = all[1].at(5).get<std::int64_t>(), end = all[1].at(6).get<std::int64_t>();
  EXPECT_EQ(all[1], Json::array({0, "all_reduce", 4096, 77, "spawn", enter, end, "float32", 1024}));
  EXPECT_TRUE(before <= enter && enter <= end && end <= unix_ns());
  EXPECT_EQ(all[2].at(1), "barrier");
  EXPECT_EQ(all[2].at(4), "first_step");
  EXPECT_TRUE(all[2].at(7).is_null());
  EXPECT_EQ(all[3].at(0), 2);
  EXPECT_TRUE(all[3].at(6).is_null()) << "it was never seen to end";
}

TEST_F(CollectiveLogTest, AnEndThatComesAfterTheLineWasWrittenIsPutIn) {
  CollectiveLog log(path_, facts());
  const auto slow = *log.enter(bucket);
  log.flush();
  EXPECT_TRUE(lines().at(1).at(6).is_null());
  const auto quick = *log.enter(bucket);
  log.end(quick);
  log.end(slow);
  log.flush();
  const auto all = lines();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_GE(all[1].at(6).get<std::int64_t>(), all[2].at(6).get<std::int64_t>());
}

TEST_F(CollectiveLogTest, AtTheEndOfARankLateEndsAreWaitedFor) {
  CollectiveLog log(path_, facts());
  const auto late = *log.enter(bucket);
  std::thread other([&] {
    ::usleep(50'000);
    log.end(late);
  });
  log.wait_for_ends(std::chrono::seconds(20));
  log.flush();
  other.join();
  EXPECT_TRUE(lines().at(1).at(6).is_number());
  log.enter(bucket);
  log.wait_for_ends(milliseconds(20));  // one that never ends does not hold the rank up
}

/// A device whose work goes on only when it is let: point n is passed at base + n us.
class SteppedDevice final : public DeviceStamps {
 public:
  static constexpr std::int64_t base = 1'796'000'000'000'000'000;
  struct State {
    std::atomic<std::size_t> put{0}, passed{0};
    std::atomic<bool> capturing{false};
  };
  explicit SteppedDevice(State& state) : state_(state) {}
  std::optional<std::size_t> put() override {
    return state_.capturing ? std::nullopt : std::optional<std::size_t>(state_.put++);
  }
  std::optional<std::int64_t> read(std::size_t point) override {
    return point < state_.passed ? std::optional(base + static_cast<std::int64_t>(point) * 1000) : std::nullopt;
  }

 private:
  State& state_;
};

TEST_F(CollectiveLogTest, TimesOfADeviceAreWhenItCameThereNotWhenTheHostCalled) {
  SteppedDevice::State device;
  CollectiveLog log(path_, facts(), std::make_unique<SteppedDevice>(device));
  for (int i = 0; i < 3; ++i) {  // the host is far ahead
    log.end(*log.enter(bucket));
  }
  device.passed = 2;
  log.flush();
  auto all = lines();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].at("ends"), "device");
  EXPECT_EQ(all[1].at(5), SteppedDevice::base);
  EXPECT_EQ(all[1].at(6), SteppedDevice::base + 1000);
  EXPECT_TRUE(all[2].at(6).is_null()) << "the device is not there yet";
  device.passed = 6;
  log.wait_for_ends(std::chrono::seconds(20));
  log.flush();
  all = lines();
  EXPECT_EQ(all[2].at(5), SteppedDevice::base + 2000) << "both times of a line that was written early are put in";
  EXPECT_EQ(all[2].at(6), SteppedDevice::base + 3000);
  EXPECT_EQ(all[3].at(6), SteppedDevice::base + 5000);
}

TEST_F(CollectiveLogTest, ADeviceThatHangsLeavesTheCollectivesThatItNeverReached) {
  SteppedDevice::State device;
  {
    CollectiveLog log(path_, facts(), std::make_unique<SteppedDevice>(device));
    log.end(*log.enter(bucket));
    log.enter(bucket);  // its call failed: it was never submitted
    log.end(*log.enter(bucket));
    device.passed = 2;
    const auto began = std::chrono::steady_clock::now();
    log.wait_for_ends(milliseconds(50));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].at(6), SteppedDevice::base + 1000);
  EXPECT_TRUE(all[2].at(6).is_null() && all[3].at(6).is_null());
}

TEST_F(CollectiveLogTest, ACollectiveThatIsCapturedIsNotLogged) {
  SteppedDevice::State device;
  CollectiveLog log(path_, facts(), std::make_unique<SteppedDevice>(device));
  device.capturing = true;
  EXPECT_EQ(log.enter(bucket), std::nullopt) << "it runs with its graph, and would seem never to end";
  device.capturing = false;
  log.end(*log.enter(barrier));
  device.passed = 2;
  log.wait_for_ends(std::chrono::seconds(20));
  log.flush();
  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].at(0), 0);
  EXPECT_EQ(all[1].at(6), SteppedDevice::base + 1000);
}

TEST_F(CollectiveLogTest, ACollectiveThatHangsIsOnDiskWithoutAnybodysHelp) {
  CollectiveLog log(path_, facts());
  log.enter(bucket);
  for (int i = 0; i < 60 && lines().size() < 2; ++i) ::usleep(50'000);
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_TRUE(lines()[1].at(6).is_null());
}

TEST_F(CollectiveLogTest, AKilledRankLeavesWholeLinesUpToItsLastMoments) {
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CollectiveLog log(path_, facts());
    for (;;) {
      log.end(*log.enter(bucket));
      ::usleep(200);
    }
  }
  ::usleep(1'000'000);
  ::kill(child, SIGKILL);
  const auto killed = unix_ns();
  ::waitpid(child, nullptr, 0);
  const auto all = lines();
  ASSERT_GT(all.size(), 100U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].at(0), i - 1);
  EXPECT_LT(killed - all.back().at(5).get<std::int64_t>(), 900'000'000) << "more than the last second is lost";
}

TEST_F(CollectiveLogTest, AnExceptionThatEndsTheProcessIsPrecededByTheLog) {
  EXPECT_EXIT(
      {
        CollectiveLog log(path_, facts());
        log.enter(bucket);
        std::thread([]() { throw std::runtime_error("of a library's own thread"); }).join();
      },
      ::testing::KilledBySignal(SIGABRT), "of a library's own thread");
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_TRUE(lines()[1].at(6).is_null());
}

TEST_F(CollectiveLogTest, ThreadsGetANumberEach) {
  {
    CollectiveLog log(path_, facts());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) log.end(*log.enter(bucket));
      });
    for (auto& thread : threads) thread.join();
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 2001U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i].at(0), i - 1);
    EXPECT_GE(all[i].at(6).get<std::int64_t>(), all[i].at(5).get<std::int64_t>());
  }
}

TEST_F(CollectiveLogTest, AFileThatCannotBeMadeOrWrittenIsNamed) {
  try {
    CollectiveLog log("/no-such-folder/rank0.collectives.jsonl", facts());
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no-such-folder/rank0.collectives.jsonl"));
  }
  CollectiveLog full("/dev/full", facts());
  EXPECT_THAT(full.problem(), HasSubstr("No space left"));
}

}  // namespace
}  // namespace stepgauge::worker
