#pragma once

namespace stepgauge::stats {

struct Interval {
  double lower;
  double upper;
};

}  // namespace stepgauge::stats
