#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// Sustained shifts of a nightly series, one value a night on the scale of the analysis (ln values or points):
// two one-sided cumulative sums (Page 1954) against a robust model of the nights since the last acknowledged change
// (statistics.md 3.6, alarm A).
namespace stepgauge::stats {

struct CusumRule {
  double floor = 0.002;           // smallest sigma, in the unit of the values, above 0: 0.2 % of ln values
  std::size_t model_nights = 60;  // the latest of the segment that count
  std::size_t guard_nights = 5;   // the last of those are judged by the model but not part of it
  std::size_t alarm_nights = 30;  // fewer raise no alarm; at least 10
  double clip = 3.5;              // of |z|: one wild night is no shift
  double slack = 0.5;             // taken off each z; half the shift that is looked for, in sigma
  double threshold = 8.0;         // of the sum, in sigma
};

struct SegmentModel {
  std::size_t begin;   // first night of the model
  std::size_t nights;  // of the present segment in the model
  double centre;       // their median
  double sigma;        // between nights, with the correction for r1
  double r1;           // lag-1 autocorrelation of the residuals
};

struct CusumAlarm {
  std::size_t night;  // when the sum passed the threshold
  std::size_t start;  // first night after the sum was last 0: the estimated start of the shift
  bool upward;
};

struct CusumResult {
  SegmentModel model;
  std::vector<CusumAlarm> alarms;  // by night; empty below alarm_nights
};

// acknowledged: first nights of the levels that begin with a known change, ascending, within the series. The segment is
// what follows the last one.
//
// sigma = max(1.4826 MAD, (Q95 - Q05) / 3.6, floor) of the residuals of all segments, each about its own median. When
// r1 > 0.2 it is multiplied by sqrt((1 + r1) / (1 - r1)), r1 taken as 0.9 at most. The guard nights keep a shift that
// is under way from widening the model until it fits.
//
// C_t = max(0, C_{t-1} + z_t - slack) for z and for -z, over the latest model_nights; an alarm when C_t > threshold,
// one for each time that the sum leaves 0. The model is made anew each night, so that an alarm can first show some
// nights after its own, and that a shift that nobody acknowledges becomes part of it within weeks. Nights that jump
// to and fro between two levels can alarm: the median sits on one of them.
//
// Simulated, judged anew on each of 30 nights after 30 or 60 quiet ones: series with a false alarm 2 % (normal), 3 %
// (with 2 % outliers of 5 sigma), 3-6 % (AR(1), r1 0.3 to 0.8); mean nights to the alarm 6.2 for a shift of 2 sigma,
// 4 for 3, 3 for 5, the start within two nights in 80 %. Of shifts of 2 sigma 83 % are found after 30 nights and 94 %
// after 60, of 1 sigma 33 and 45 %.
//
// nullopt for a segment of fewer than 10 nights. Throws std::invalid_argument on a value that is not finite, and on
// acknowledged nights or a rule outside of what is said here.
std::optional<CusumResult> cusum(std::span<const double> values, std::span<const std::size_t> acknowledged = {},
                                 const CusumRule& rule = {});

}  // namespace stepgauge::stats
