#include "worker/phase_clock.hpp"

#include <unistd.h>

#include "contract/clock.hpp"
#include "worker/rank_environment.hpp"

namespace stepgauge::worker {

void PhaseClock::begin(const std::string& phase) {
  current_ = phase;
  progress_.phase(phase);
  if (perturb_.sleep_s > 0 && perturb_.sleep_phase == phase) {
    ::usleep(static_cast<useconds_t>(perturb_.sleep_s * 1e6));
  }
}

void PhaseClock::end() {
  close(current_, monotonic_ns());
}

void PhaseClock::close(const std::string& phase, std::int64_t at_ns) {
  constexpr double ns_per_s = 1e9;
  seconds_[phase] += static_cast<double>(at_ns - last_ns_) / ns_per_s;
  last_ns_ = at_ns;
}

}  // namespace stepgauge::worker
