// Each rule of docs/metrics.md, each way: when it strikes, where it just does not, and that what is absent never
// counts.
#include "summary/health_rules.hpp"

#include <gmock/gmock.h>

#include "summary/launch_summary.hpp"

namespace stepgauge::summary {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr LaunchSpans spans{Span{5, 10}, Span{2, 11}};

/// Samples at -0.5, 0.5, 1.5, ... 11.5 s; those from 5.5 to 9.5 s lie in the measured steps.
HealthSamples quiet() {
  HealthSamples health;
  health.period_s = 1;
  health.devices.push_back({0, "GPU-f0", 1980, {}, std::vector<XidEvent>()});
  for (int i = 0; i < 13; ++i) {
    DeviceSample sample;
    sample.t_s = i - 0.5;
    sample.sm_mhz = 1980;
    sample.throttle = 0;
    sample.ecc_uncorrected = 2;
    sample.processes.emplace();
    if (i > 1) sample.processes->push_back({100, 5000.0, ProcessOwner::launch});
    health.devices[0].samples.push_back(sample);
  }
  return health;
}

constexpr std::size_t before = 0, first_steps = 3, in_measure = 6, after = 12;  // places in quiet()

HealthJudgement judge(const HealthSamples& health, const LaunchSpans& when = spans) {
  return judge_health(health, when, false);
}

HealthJudgement with_throttle(std::size_t sample, std::optional<std::uint64_t> reasons,
                              const LaunchSpans& when = spans) {
  auto health = quiet();
  health.devices[0].samples[sample].throttle = reasons;
  return judge(health, when);
}

TEST(HealthRules, AQuietLaunchIsNotDisturbed) {
  EXPECT_THAT(judge(quiet()).disturbed, IsEmpty());
  EXPECT_THAT(judge(quiet()).notes, IsEmpty());
  EXPECT_THAT(judge(HealthSamples()).disturbed, IsEmpty());
}

TEST(HealthRules, EachThrottleThatIsAFaultOfTheMachineDisturbsTheMeasuredSteps) {
  const std::pair<std::uint64_t, const char*> faults[] = {{throttle::hardware_slowdown, "hardware slowdown"},
                                                          {throttle::hardware_thermal, "hardware thermal slowdown"},
                                                          {throttle::software_thermal, "software thermal slowdown"},
                                                          {throttle::power_brake, "hardware power brake"}};
  for (const auto& [bit, name] : faults) {
    EXPECT_THAT(with_throttle(in_measure, bit).disturbed,
                ElementsAre(std::string("GPU 0: ") + name + " in 1 of 5 samples of the measured steps"));
    EXPECT_THAT(with_throttle(first_steps, bit).disturbed, IsEmpty()) << name << " before the measured steps";
    EXPECT_THAT(with_throttle(after, bit).disturbed, IsEmpty()) << name << " after them";
  }
  EXPECT_THAT(with_throttle(in_measure, throttle::hardware_slowdown | throttle::power_brake).disturbed, SizeIs(2));
}

TEST(HealthRules, ThePowerCapIsANoteAndHarmlessReasonsAreNothing) {
  const auto capped = with_throttle(in_measure, throttle::software_power_cap);
  EXPECT_THAT(capped.disturbed, IsEmpty());
  EXPECT_THAT(capped.notes, ElementsAre("GPU 0: software power cap in 1 of 5 samples of the measured steps"));
  for (const auto bit :
       {throttle::idle, throttle::application_clocks, throttle::sync_boost, throttle::display_clocks}) {
    const auto judged = with_throttle(in_measure, bit);
    EXPECT_THAT(judged.disturbed, IsEmpty());
    EXPECT_THAT(judged.notes, IsEmpty());
  }
  EXPECT_THAT(with_throttle(in_measure, std::nullopt).disturbed, IsEmpty());
}

TEST(HealthRules, WithoutASampleInTheMeasuredStepsTheLaunchAfterItsFirstStepCounts) {
  const LaunchSpans narrow{Span{5.6, 5.9}, Span{2, 11}};
  EXPECT_THAT(with_throttle(in_measure, throttle::hardware_thermal, narrow).disturbed,
              ElementsAre(HasSubstr("1 of 9 samples of the launch after its first step")));
  EXPECT_THAT(with_throttle(1, throttle::hardware_thermal, narrow).disturbed, IsEmpty())
      << "the first step is not timed";
  EXPECT_THAT(with_throttle(1, throttle::hardware_thermal, {}).disturbed,
              ElementsAre(HasSubstr("of 13 samples of the launch")));
}

TEST(HealthRules, TheEndsOfTheMeasuredStepsBelongToThem) {
  EXPECT_THAT(with_throttle(in_measure, throttle::hardware_thermal, {Span{5.5, 9}, {}}).disturbed, SizeIs(1));
  EXPECT_THAT(with_throttle(in_measure, throttle::hardware_thermal, {Span{3, 5.5}, {}}).disturbed, SizeIs(1));
  EXPECT_THAT(with_throttle(in_measure, throttle::hardware_thermal, {Span{5.6, 9}, {}}).disturbed, IsEmpty());
}

HealthJudgement with_clock_at_the_end(double mhz, std::uint64_t reasons, std::size_t samples = 3) {
  auto health = quiet();
  auto& all = health.devices[0].samples;
  for (auto& sample : all) sample.throttle = reasons;
  for (std::size_t i = 0; i < samples; ++i) all[10 - i].sm_mhz = mhz;
  auto wide = spans;
  wide.measured = Span{1, 10};
  return judge(health, wide);
}

TEST(HealthRules, AClockThatFallsWhileItIsHeldDownDisturbs) {
  EXPECT_THAT(with_clock_at_the_end(1682, throttle::software_power_cap).disturbed,
              ElementsAre("GPU 0: SM clock fell from 1980 to 1682 MHz in the measured steps (software power cap)"));
  EXPECT_THAT(with_clock_at_the_end(1683, throttle::software_power_cap).disturbed, IsEmpty()) << "15 % exactly";
  EXPECT_THAT(with_clock_at_the_end(2500, throttle::software_power_cap).disturbed, IsEmpty()) << "upward";
  EXPECT_THAT(with_clock_at_the_end(345, 0).disturbed, IsEmpty()) << "nobody holds it down";
  EXPECT_THAT(with_clock_at_the_end(345, throttle::idle).disturbed, IsEmpty()) << "idle clocks are no fault";
  EXPECT_THAT(with_clock_at_the_end(1000, throttle::software_power_cap, 1).disturbed, IsEmpty())
      << "one low reading is no fall";
}

TEST(HealthRules, AFallNeedsFourClocks) {
  auto health = quiet();
  auto& all = health.devices[0].samples;
  for (auto& sample : all) sample.throttle = throttle::software_power_cap;
  for (std::size_t i = 0; i < 8; ++i) all[i].sm_mhz.reset();
  for (std::size_t i = 9; i < all.size(); ++i) all[i].sm_mhz = 500;
  EXPECT_THAT(judge(health).disturbed, IsEmpty());
}

HealthJudgement with_process(std::size_t sample, std::optional<double> mib, ProcessOwner owner) {
  auto health = quiet();
  health.devices[0].samples[sample].processes->push_back({777, mib, owner});
  return judge(health);
}

TEST(HealthRules, AnotherProcessCountsInTheMeasuredStepsAndOtherwiseByItsMemory) {
  EXPECT_THAT(with_process(in_measure, 1, ProcessOwner::other).disturbed,
              ElementsAre("GPU 0: another compute process on it (pid 777, 1 MiB)"));
  EXPECT_THAT(with_process(in_measure, std::nullopt, ProcessOwner::unseen).disturbed,
              ElementsAre("GPU 0: another compute process on it (pid 777, memory unknown)"));
  EXPECT_THAT(with_process(first_steps, 64, ProcessOwner::other).disturbed, IsEmpty());
  EXPECT_THAT(with_process(first_steps, 64.5, ProcessOwner::other).disturbed, SizeIs(1));
  EXPECT_THAT(with_process(before, 500, ProcessOwner::other).disturbed, SizeIs(1));
  EXPECT_THAT(with_process(before, std::nullopt, ProcessOwner::other).disturbed, IsEmpty());
  EXPECT_THAT(with_process(before, 500, ProcessOwner::unseen).disturbed, IsEmpty())
      << "what has just ended stands in the list until its memory is freed";
}

TEST(HealthRules, ProcessesOfTheLaunchAreNotForeign) {
  EXPECT_THAT(with_process(in_measure, 5000, ProcessOwner::launch).disturbed, IsEmpty());
}

TEST(HealthRules, ARankOnceKnownStaysKnownWhenItIsNoLongerInProc) {
  auto health = quiet();
  health.devices[0].samples[in_measure].processes->front().owner = ProcessOwner::unseen;
  EXPECT_THAT(judge(health).disturbed, IsEmpty());
}

/// As in a container whose driver numbers processes as the host does: the rank is 900001, and nobody knows it.
HealthSamples other_namespace() {
  auto health = quiet();
  for (auto& sample : health.devices[0].samples) {
    for (auto& process : *sample.processes) process = {900001, std::nullopt, ProcessOwner::unseen};
  }
  return health;
}

TEST(HealthRules, InAnotherPidNamespaceTheRankItselfIsNotForeign) {
  EXPECT_THAT(judge(other_namespace()).disturbed, IsEmpty());
}

TEST(HealthRules, InAnotherPidNamespaceWhatWasThereBeforeTheLaunchIsForeign) {
  auto health = other_namespace();
  for (auto& sample : health.devices[0].samples) sample.processes->push_back({800, 30.0, ProcessOwner::unseen});
  EXPECT_THAT(judge(health).disturbed, ElementsAre("GPU 0: another compute process on it (pid 800, 30 MiB)"));
}

TEST(HealthRules, InAnotherPidNamespaceMoreProcessesThanRanksAreForeign) {
  auto health = other_namespace();
  health.devices[0].samples[in_measure].processes->push_back({900002, std::nullopt, ProcessOwner::unseen});
  EXPECT_THAT(
      judge(health).disturbed,
      ElementsAre("GPU 0: 2 compute processes where the launch has one rank (pids 900001, 900002) in the measured "
                  "steps"));
}

TEST(HealthRules, WithoutAKnownRankALargeProcessFromBeforeCountsAtAnyTime) {
  const auto with = [](double mib, ProcessOwner owner) {
    auto health = other_namespace();
    health.devices[0].samples[before].processes->push_back({800, mib, owner});
    return judge(health).disturbed;
  };
  EXPECT_THAT(with(500, ProcessOwner::other), ElementsAre("GPU 0: another compute process on it (pid 800, 500 MiB)"));
  EXPECT_THAT(with(64, ProcessOwner::other), IsEmpty());
  EXPECT_THAT(with(500, ProcessOwner::unseen), IsEmpty()) << "an earlier launch's, whose memory is being freed";
}

TEST(HealthRules, WithoutAKnownRankOnlyTheMeasuredStepsAreCounted) {
  auto health = other_namespace();
  health.devices[0].samples[first_steps].processes->push_back({900002, std::nullopt, ProcessOwner::unseen});
  EXPECT_THAT(judge(health).disturbed, IsEmpty());
}

TEST(HealthRules, UncorrectedEccErrorsCountWhenTheyGrow) {
  auto health = quiet();
  health.devices[0].samples.back().ecc_uncorrected = 3;
  EXPECT_THAT(judge(health).disturbed, ElementsAre("GPU 0: 1 uncorrected ECC errors came in"));
  for (auto& sample : health.devices[0].samples) sample.ecc_uncorrected = 7;
  EXPECT_THAT(judge(health).disturbed, IsEmpty()) << "old errors are not this launch's";
  for (auto& sample : health.devices[0].samples) sample.ecc_uncorrected.reset();
  health.devices[0].samples.back().ecc_uncorrected = 7;
  EXPECT_THAT(judge(health).disturbed, IsEmpty()) << "one reading cannot have grown";
}

TEST(HealthRules, AnXidAtAnyTimeDisturbs) {
  auto health = quiet();
  health.devices[0].xids->push_back({1.25, 79});
  EXPECT_THAT(judge(health).disturbed, ElementsAre("GPU 0: Xid 79 at 1.2 s"));
  health.devices[0].xids.reset();
  EXPECT_THAT(judge(health).disturbed, IsEmpty());
}

TEST(HealthRules, EveryDeviceIsJudgedAndNamed) {
  auto health = quiet();
  health.devices.push_back(health.devices[0]);
  health.devices[1].index = 5;
  health.devices[1].samples[in_measure].throttle = throttle::power_brake;
  EXPECT_THAT(judge(health).disturbed, ElementsAre(HasSubstr("GPU 5: hardware power brake")));
}

HealthSamples host(std::initializer_list<std::uint64_t> steal) {
  HealthSamples health;
  double t_s = -0.5;
  std::uint64_t total = 1000;
  for (const auto ticks : steal) {
    health.host.push_back({t_s, CpuTicks{ticks, total}, 1});
    t_s += 1;
    total += 100;
  }
  return health;
}

TEST(HealthRules, StolenTimeCountsOverTheSamplesThatEncloseTheMeasuredSteps) {
  const LaunchSpans when{Span{1, 2}, {}};  // samples at 0.5 and 2.5 s enclose it: 200 ticks
  const auto judged = [&](const HealthSamples& health) { return judge_health(health, when, true).disturbed; };
  EXPECT_THAT(judged(host({0, 0, 5, 11, 11})), ElementsAre("host: the hypervisor stole 5.5 % of the cores' time"));
  EXPECT_THAT(judged(host({0, 0, 5, 10, 10})), IsEmpty()) << "5 % exactly";
  EXPECT_THAT(judged(host({0, 90, 90, 90, 90})), IsEmpty()) << "before";
  EXPECT_THAT(judged(host({0, 0, 0, 0, 90})), IsEmpty()) << "after";
  EXPECT_THAT(judged(host({0, 0, 90})), SizeIs(1)) << "the last sample is the end of it";
  EXPECT_THAT(judged(host({7})), IsEmpty());
  EXPECT_THAT(judged(HealthSamples()), IsEmpty());
  EXPECT_THAT(judge_health(host({0, 0, 50, 90, 90}), when, false).disturbed, IsEmpty()) << "not of a GPU's launch";
  EXPECT_THAT(judge_health(host({0, 0, 0, 0, 90}), {}, true).disturbed, SizeIs(1)) << "no phase told: all of it";
  EXPECT_THAT(judged(host({90, 90, 0, 0, 0})), IsEmpty()) << "some hypervisors' counts go backwards";
  auto brief = host({0, 0, 90});
  for (auto& sample : brief.host) sample.cpu->total = 1000 + sample.cpu->steal;
  EXPECT_THAT(judged(brief), IsEmpty()) << "90 ticks are too few to tell";
  auto unknown = host({0, 0, 90, 90, 90});
  for (auto& sample : unknown.host) sample.cpu.reset();
  EXPECT_THAT(judged(unknown), IsEmpty());
}

TEST(Spans, LastFromTheFirstRankThatMeasuresToTheLast) {
  const auto found = spans_of({{{"build", 0.5}, {"first_step", 1}, {"warmup", 2}, {"measure", 4}, {"finish", 9}},
                               {{"first_step", 1.5}, {"warmup", 1.75}, {"measure", 3.5}, {"finish", 9.5}}},
                              12);
  ASSERT_TRUE(found.measured && found.after_first_step);
  EXPECT_EQ(found.measured->from_s, 3.5);
  EXPECT_EQ(found.measured->to_s, 9.5);
  EXPECT_EQ(found.after_first_step->from_s, 1.75);
  EXPECT_EQ(found.after_first_step->to_s, 12);
  EXPECT_EQ(spans_of({{{"measure", 4}}}, 12).measured->to_s, 12) << "killed while it measured";
  EXPECT_FALSE(spans_of({{{"build", 1}}, {}}, 12).measured);
  EXPECT_FALSE(spans_of({}, 12).after_first_step);
}

TEST(UsageNotes, InvoluntarySwitchesPerMeasuredStep) {
  RankRecord rank;
  rank.rank = 1;
  rank.step_ms.assign(30, 10);
  rank.measured_from = 10;
  EXPECT_THAT(usage_notes({rank}), IsEmpty());
  rank.detail["usage"] = {{"involuntary_switches", 1000}};
  EXPECT_THAT(usage_notes({rank}), IsEmpty()) << "50 a step exactly";
  rank.detail["usage"]["involuntary_switches"] = 1100;
  EXPECT_THAT(usage_notes({rank}),
              ElementsAre("rank 1: 55 involuntary context switches per measured step: its cores were shared"));
  rank.detail["usage"]["involuntary_switches"] = nullptr;
  EXPECT_THAT(usage_notes({rank}), IsEmpty());
  rank.detail["usage"] = {{"involuntary_switches", 1100}};
  rank.measured_from = 30;
  EXPECT_THAT(usage_notes({rank}), IsEmpty()) << "no measured step";
}

class DisturbedLaunch : public ::testing::Test {
 protected:
  DisturbedLaunch() {
    cell_.workload = {"resnet18", "resnet", {}};
    cell_.device = "cuda";
    assign_identity(cell_);
    RankRecord rank;
    rank.cell_id = cell_.id;
    rank.cell_hash = cell_.hash;
    rank.step_ms.assign(61, 20);
    rank.measured_from = 11;
    rank.first_step_s = 2;
    rank.work_per_step = 8;
    facts_.ranks = {rank};
    facts_.health = quiet();
    facts_.spans = spans;
  }

  void disturb() { facts_.health->devices[0].samples[in_measure].throttle = throttle::hardware_thermal; }

  Cell cell_;
  LaunchFacts facts_;
};

TEST_F(DisturbedLaunch, KeepsItsSamplesWhateverItsStatus) {
  const auto record = summarise(cell_, facts_);
  EXPECT_EQ(record.status, Status::ok);
  EXPECT_EQ(record.detail.at("health").at("devices").at(0).at("samples").at("t_s").size(), 13u);
  EXPECT_EQ(record.detail.at("health").at("measured"), Json({{"from_s", 5.0}, {"to_s", 10.0}}));
  facts_.health.reset();
  EXPECT_FALSE(summarise(cell_, facts_).detail.contains("health"));
}

TEST_F(DisturbedLaunch, IsDisturbedWhenItWouldBeOk) {
  disturb();
  const auto record = summarise(cell_, facts_);
  EXPECT_EQ(record.status, Status::disturbed);
  EXPECT_EQ(record.reason, "GPU 0: hardware thermal slowdown in 1 of 5 samples of the measured steps");
}

TEST_F(DisturbedLaunch, ExplainsOneThatIsUnsteady) {
  disturb();
  auto& steps = facts_.ranks[0].step_ms;
  for (std::size_t i = 40; i < steps.size(); ++i) steps[i] *= 1.5;
  const auto record = summarise(cell_, facts_);
  EXPECT_EQ(record.status, Status::disturbed);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("hardware thermal slowdown"), HasSubstr("; unsteady: ")));
}

TEST_F(DisturbedLaunch, DoesNotExcuseOneThatFailed) {
  disturb();
  facts_.status = Status::oom;
  facts_.reason = "out of memory";
  const auto record = summarise(cell_, facts_);
  EXPECT_EQ(record.status, Status::oom);
  EXPECT_EQ(record.reason, "out of memory");
  EXPECT_THAT(record.detail.at("notes").dump(), HasSubstr("the launch was disturbed too: GPU 0: hardware thermal"));
}

TEST_F(DisturbedLaunch, NotesReachTheRecord) {
  facts_.health->devices[0].samples[in_measure].throttle = throttle::software_power_cap;
  EXPECT_THAT(summarise(cell_, facts_).detail.at("notes").dump(), HasSubstr("software power cap in 1 of 5"));
}

}  // namespace
}  // namespace stepgauge::summary
