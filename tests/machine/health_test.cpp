// The sampler against a driver that says what the test wants: what users lose when this fails is the reason why a
// launch was slow, or a launch that is thrown away for no reason.
#include "machine/health.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "machine/health_probes.hpp"
#include "machine/proc_files.hpp"

namespace stepgauge::machine {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Clock = std::chrono::steady_clock;

/// The script of the fake NVML; ctest names library and file for the whole program, which loads NVML once.
class FakeGpu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    path() = (std::filesystem::temp_directory_path() / ("stepgauge-nvml-" + std::to_string(::getpid()))).string();
    ::setenv("STEPGAUGE_FAKE_NVML", path().c_str(), 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove(path()); }

  void SetUp() override {
    if (std::getenv("STEPGAUGE_NVML_LIBRARY") == nullptr) GTEST_SKIP() << "run by ctest, which names the fake NVML";
    say(healthy());
  }

  static Json healthy() {
    return {{"uuid", "GPU-f0"},   {"memory_mib", 143771}, {"memory_used_mib", 600}, {"sm_mhz", 1980},
            {"sm_max_mhz", 1980}, {"memory_mhz", 3201},   {"power_w", 312.5},       {"temperature_c", 41},
            {"throttle", 1},      {"ecc_uncorrected", 0}, {"xids", Json::array()},  {"processes", Json::array()}};
  }

  static void say(const Json& device) {
    std::ofstream(path() + ".new") << Json{{"devices", Json::array({device, device})}};
    std::filesystem::rename(path() + ".new", path());  // a call sees the old script or the new one
  }

  static std::string& path() {
    static std::string kept;
    return kept;
  }
};

/// Until the sampler has surely looked again.
void wait_for_samples() {
  std::this_thread::sleep_for(60ms);
}

TEST_F(FakeGpu, ALaunchShorterThanThePeriodHasTwoSamples) {
  const auto before = Clock::now();
  HealthSampler sampler({0});
  const auto health = sampler.finish(Clock::now());
  ASSERT_THAT(health.devices, SizeIs(1));
  EXPECT_THAT(health.devices[0].samples, SizeIs(2));
  EXPECT_LT(health.devices[0].samples[0].t_s, 0) << "the first sample is older than the launch";
  EXPECT_DOUBLE_EQ(health.period_s, 0.25);
  EXPECT_THAT(health.host, IsEmpty());
  EXPECT_LT(Clock::now() - before, 200ms) << "ending the sampler must not wait for its period";
}

TEST_F(FakeGpu, EveryQuantityComesThroughInItsUnit) {
  auto device = healthy();
  device["throttle"] = 0x44;
  device["ecc_uncorrected"] = 3;
  say(device);
  HealthSampler sampler({1}, 10ms);
  wait_for_samples();
  const auto health = sampler.finish(Clock::now());
  ASSERT_THAT(health.devices, SizeIs(1));
  const auto& gpu = health.devices[0];
  EXPECT_EQ(gpu.index, 1);
  EXPECT_EQ(gpu.uuid, "GPU-f0");
  EXPECT_EQ(gpu.sm_max_mhz, 1980);
  ASSERT_THAT(gpu.samples, SizeIs(Ge(4u)));
  const auto& sample = gpu.samples[2];
  EXPECT_EQ(sample.sm_mhz, 1980);
  EXPECT_EQ(sample.memory_mhz, 3201);
  EXPECT_EQ(sample.power_w, 312.5);
  EXPECT_EQ(sample.temperature_c, 41);
  EXPECT_EQ(sample.memory_used_mib, 600);
  EXPECT_EQ(sample.throttle, throttle::hardware_thermal | throttle::software_power_cap);
  EXPECT_EQ(sample.ecc_uncorrected, 3u);
  EXPECT_THAT(*sample.processes, IsEmpty());
  EXPECT_GT(health.sampler_cpu_s, 0);
}

TEST_F(FakeGpu, WhatTheDriverDoesNotTellIsAbsentAndNeverZero) {
  say({{"uuid", "GPU-f0"}});
  HealthSampler sampler({0}, 10ms);
  const auto health = sampler.finish(Clock::now());
  ASSERT_THAT(health.devices, SizeIs(1));
  const auto& gpu = health.devices[0];
  EXPECT_FALSE(gpu.sm_max_mhz);
  EXPECT_FALSE(gpu.xids);
  const auto& sample = gpu.samples.at(0);
  EXPECT_FALSE(sample.sm_mhz || sample.memory_mhz || sample.power_w || sample.temperature_c || sample.memory_used_mib);
  EXPECT_FALSE(sample.throttle || sample.ecc_uncorrected || sample.processes);
  const auto json = to_json(health);
  EXPECT_EQ(json.at("devices").at(0).at("samples").size(), 1u) << json.dump();
  for (const char* key : {"throttle", "processes", "xids", "sm_max_mhz"}) {
    EXPECT_FALSE(json.at("devices").at(0).contains(key)) << key;
  }
}

TEST_F(FakeGpu, AChangeUnderWayIsSeenAndAnXidComesInOnce) {
  auto device = healthy();
  HealthSampler sampler({0}, 10ms);
  wait_for_samples();
  device["sm_mhz"] = 1200;
  device["xids"] = {79};
  say(device);
  wait_for_samples();
  const auto health = sampler.finish(Clock::now());
  const auto& gpu = health.devices.at(0);
  EXPECT_EQ(gpu.samples.front().sm_mhz, 1980);
  EXPECT_EQ(gpu.samples.back().sm_mhz, 1200);
  ASSERT_TRUE(gpu.xids);
  ASSERT_THAT(*gpu.xids, SizeIs(1));
  EXPECT_EQ(gpu.xids->front().xid, 79u);
}

TEST_F(FakeGpu, ProcessesOfTheLaunchAreToldFromOthersAndFromTheUnseen) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  auto device = healthy();
  const auto own = static_cast<std::int64_t>(child);
  device["processes"] = {
      {{"pid", own}, {"mib", 1000}}, {{"pid", ::getppid()}, {"mib", 65}}, {{"pid", 4000001}, {"mib", nullptr}}};
  say(device);
  HealthSampler sampler({0}, 10ms);
  const auto health = sampler.finish(Clock::now());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto& processes = *health.devices.at(0).samples.at(0).processes;
  ASSERT_THAT(processes, SizeIs(3));
  EXPECT_EQ(processes[0].owner, ProcessOwner::launch);
  EXPECT_EQ(processes[0].used_mib, 1000);
  EXPECT_EQ(processes[1].owner, ProcessOwner::other);
  EXPECT_EQ(processes[2].owner, ProcessOwner::unseen);
  EXPECT_FALSE(processes[2].used_mib);
}

TEST_F(FakeGpu, MoreProcessesThanTheListHoldsAreAllSeen) {
  auto device = healthy();
  for (int i = 0; i < 100; ++i) device["processes"].push_back({{"pid", 4000001 + i}, {"mib", 1}});
  say(device);
  HealthSampler sampler({0}, 10ms);
  const auto health = sampler.finish(Clock::now());
  EXPECT_THAT(*health.devices.at(0).samples.at(0).processes, SizeIs(100));
}

TEST_F(FakeGpu, AGpuThatIsNotThereIsNamedAndTheOthersAreWatched) {
  HealthSampler sampler({0, 7}, 10ms);
  const auto health = sampler.finish(Clock::now());
  EXPECT_THAT(health.devices, SizeIs(1));
  EXPECT_EQ(health.devices_absent, "NVML has no GPU 7");
}

TEST(HealthOfTheHost, StealRunQueueAndTheProcessOfARankAreSampled) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::usleep(1000);
  }
  HealthSampler sampler({}, 10ms);
  sampler.watch_rank(3, child);
  std::this_thread::sleep_for(80ms);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto health = sampler.finish(Clock::now());
  EXPECT_THAT(health.devices, IsEmpty());
  ASSERT_THAT(health.host, SizeIs(Ge(3u)));
  ASSERT_THAT(health.ranks, SizeIs(1));
  const auto& rank = health.ranks[0];
  EXPECT_EQ(rank.rank, 3);
  EXPECT_EQ(rank.pid, child);
  ASSERT_THAT(rank.samples, SizeIs(Ge(2u)));
  EXPECT_LT(rank.samples.size(), health.host.size()) << "no sample of a process that has ended";
  EXPECT_GT(*rank.samples.back().voluntary_switches, *rank.samples.front().voluntary_switches);
  EXPECT_GE(*rank.samples.back().minor_faults, 0);
}

TEST(HealthOfTheHost, SamplingCostsLittle) {
  HealthSampler sampler({});
  const auto begin = Clock::now();
  for (int rank = 0; rank < 8; ++rank) sampler.watch_rank(rank, ::getpid());
  std::this_thread::sleep_for(1300ms);
  const auto health = sampler.finish(begin);
  const double share = health.sampler_cpu_s / std::chrono::duration<double>(Clock::now() - begin).count();
  RecordProperty("sampler_cpu_percent", std::to_string(100 * share));
#ifdef __SANITIZE_ADDRESS__
  constexpr double most = 0.2;  // the sanitizer's price, many times over on a busy machine; a runaway sampler takes 1
#else
  constexpr double most = 0.02;
#endif
  EXPECT_LT(share, most) << "the budget is 0.5 % of a core; more leaves room for a busy machine and sanitizers";
}

TEST(ProcFiles, StealIsOfTheCoresThatCount) {
  const auto text =
      "cpu  100 0 0 100 0 0 0 50 0 0\ncpu0 10 1 2 3 4 5 6 7 8 9\ncpu1 1 1 1 1 1 1 1 93 0 0\ncpu12 0 0 0 0 0 0 0 1 0 0\n"
      "intr 1\nprocs_running 3\n";
  const auto ticks = [&](auto counts) { return cpu_ticks(text, counts); };
  const auto first = ticks([](int core) { return core == 0; });
  ASSERT_TRUE(first);
  EXPECT_EQ(first->steal, 7u);
  EXPECT_EQ(first->total, 38u) << "guest time is part of user time";
  EXPECT_EQ(ticks([](int core) { return core < 2; })->steal, 100u);
  EXPECT_EQ(ticks([](int) { return true; })->total, 139u);
  EXPECT_FALSE(ticks([](int) { return false; }));
  EXPECT_FALSE(cpu_ticks("", [](int) { return true; }));
  EXPECT_FALSE(cpu_ticks("cpu0 0 0 0 0 0 0 0 0\n", [](int) { return true; })) << "some sandboxes show zeros";
  EXPECT_EQ(procs_running(text), 3);
  EXPECT_FALSE(procs_running("procs_blocked 1\n"));
}

TEST(ProcFiles, ProcessFilesAreReadAndNonsenseIsAbsent) {
  const auto status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t34\n";
  EXPECT_EQ(status_number(status, "voluntary_ctxt_switches"), 12);
  EXPECT_EQ(status_number(status, "nonvoluntary_ctxt_switches"), 34);
  EXPECT_FALSE(status_number(status, "Threads"));
  EXPECT_FALSE(status_number("Threads:\tmany\n", "Threads"));
  const auto faults = process_faults("42 (a b) c) S 7 42 42 0 -1 4194560 111 222 5 6 0 0");
  ASSERT_TRUE(faults);
  EXPECT_EQ(faults->parent, 7);
  EXPECT_EQ(faults->minor_faults, 111);
  EXPECT_EQ(faults->major_faults, 5);
  EXPECT_FALSE(process_faults("42 (a) S 7 42"));
  EXPECT_FALSE(process_faults(""));
  EXPECT_FALSE(read_proc_file("/proc/0/stat"));
}

TEST(HealthJson, ALongLaunchKeepsAThousandSamplesAndEveryReasonThatWasSeen) {
  HealthSamples health;
  health.devices.push_back({0, "GPU-f0", 1980, {}, std::nullopt});
  for (int i = 0; i < 2501; ++i) {
    DeviceSample sample;
    sample.t_s = 0.25 * i;
    sample.sm_mhz = 1000 + i;
    sample.throttle = i == 1000 ? throttle::hardware_thermal : 0;  // not among those kept
    health.devices[0].samples.push_back(sample);
  }
  const auto json = to_json(health).at("devices").at(0);
  const auto& times = json.at("samples").at("t_s");
  EXPECT_EQ(times.size(), 834u);
  EXPECT_EQ(times.front(), 0);
  EXPECT_EQ(times.back(), 625.0);
  EXPECT_EQ(json.at("samples").at("sm_mhz").size(), times.size());
  ASSERT_EQ(json.at("throttle").size(), 1u);
  EXPECT_EQ(json.at("throttle").at(0).at("reason"), "hardware thermal slowdown");
  EXPECT_EQ(json.at("throttle").at(0).at("first_s"), 250.0);
}

TEST(HealthJson, StealIsTheShareSinceTheSampleBeforeAndUnknownIsNull) {
  HealthSamples health;
  health.host = {{0, CpuTicks{0, 100}, 2},
                 {0.25, CpuTicks{5, 200}, std::nullopt},
                 {0.5, std::nullopt, 1},
                 {0.75, CpuTicks{5, 300}, 1}};
  const auto json = to_json(health).at("host").at("samples");
  EXPECT_EQ(json.at("steal_percent"), Json({nullptr, 5.0, nullptr, nullptr}));
  EXPECT_EQ(json.at("procs_running"), Json({2, nullptr, 1, 1}));
}

}  // namespace
}  // namespace stepgauge::machine
