#include "launch/rank_group.hpp"

namespace stepgauge::launch {
namespace {

constexpr double signal_takes_s = 0.1;

}  // namespace

RankGroup::~RankGroup() = default;

bool RankGroup::broken(double) const {
  return false;
}

double RankGroup::waited_s(double) const {
  return 0;
}

double RankGroup::extra_grace_s() const {
  return 0;
}

double RankGroup::settle_s(bool signalled) const {
  return signalled ? signal_takes_s : 0;  // what obeys was not left behind
}

void RankGroup::end_elsewhere() noexcept {}

}  // namespace stepgauge::launch
