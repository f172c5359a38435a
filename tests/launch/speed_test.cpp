// What a launch costs beyond its worker: the issue allows 20 ms for a stub that returns at once.
#include <algorithm>

#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr double allowed_ms = 500;
#else
constexpr double allowed_ms = 60;  // three times the aim: the machine of a test run is busy; benches/ measures it
#endif

TEST_F(LaunchTest, OverheadOfAStubLaunch) {
  for (const int ranks : {1, 2}) {
    std::vector<double> times_ms;
    for (int i = 0; i < 11; ++i) {
      const auto outcome = launch_stub(small_cell(ranks), {});
      ASSERT_EQ(outcome.status, Status::ok) << outcome.reason;
      times_ms.push_back(1000 * outcome.duration_s);
    }
    std::sort(times_ms.begin(), times_ms.end());
    std::printf("stub launch, %d rank(s): median %.1f ms, fastest %.1f ms\n", ranks, times_ms[5], times_ms[0]);
    EXPECT_LT(times_ms[0], allowed_ms * ranks);
  }
}

}  // namespace
}  // namespace stepgauge::launch::test
