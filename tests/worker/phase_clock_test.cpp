// The phases before the first step: what one of them loses, the one behind it would get.
#include "worker/phase_clock.hpp"

#include <gmock/gmock.h>

#include "contract/clock.hpp"

namespace stepgauge::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

TEST(PhaseClock, EachPhaseEndsWhereTheNextBegins) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  Progress progress;
  const CellPerturb honest;
  const auto entered = monotonic_ns();
  PhaseClock phases(progress, entered - 2 * second_ns, honest);
  phases.finish_spawn(entered);
  EXPECT_DOUBLE_EQ(phases.seconds().at("spawn"), 2);
  phases.begin("runtime");
  EXPECT_EQ(phases.current(), "runtime");
  phases.end();
  phases.begin("build");
  phases.end();
  EXPECT_THAT(phases.seconds(), ElementsAre(Key("build"), Key("runtime"), Key("spawn")));
  const auto taken = phases.seconds().at("runtime") + phases.seconds().at("build");
  EXPECT_LE(taken, static_cast<double>(monotonic_ns() - entered) / second_ns);
}

TEST(PhaseClock, APlantedSleepIsInThePhaseThatItNames) {
  Progress progress;
  CellPerturb planted;
  planted.sleep_s = 0.1;
  planted.sleep_phase = "build";
  const auto entered = monotonic_ns();
  PhaseClock phases(progress, entered, planted);
  phases.finish_spawn(entered);
  for (const auto* phase : {"runtime", "build"}) {
    phases.begin(phase);
    phases.end();
  }
  EXPECT_GE(phases.seconds().at("build"), 0.1);
  EXPECT_LT(phases.seconds().at("runtime"), phases.seconds().at("build"));
}

}  // namespace
}  // namespace stepgauge::worker
