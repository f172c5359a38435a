#pragma once
// What the host had to do with a moment or an activity of the device.
#include <cstdint>
#include <string>

#include "trace/detail/call_index.hpp"
#include "trace/detail/cover.hpp"
#include "trace/timeline.hpp"

namespace stepgauge::trace::detail {

/// Keeps a reference to the timeline.
class HostSide {
 public:
  explicit HostSide(const RankTimeline& timeline)
      : timeline_(timeline),
        launches_(timeline.calls),
        calls_(timeline.calls),
        phases_(timeline.phases),
        device_phases_(timeline.device_phases) {}

  /// The deepest call and the deepest phase around a moment: "cudaLaunchKernel in backward", "no call in optimizer",
  /// "nothing recorded".
  std::string doing_at(std::int64_t time) const;
  /// Phase whose call launched the activity; of graph kernels and where no call was recorded the device's; "": none.
  const std::string& phase_of(const Activity& activity) const;

 private:
  const RankTimeline& timeline_;
  CallIndex launches_;
  Cover<HostCall> calls_;
  Cover<Span> phases_, device_phases_;
};

}  // namespace stepgauge::trace::detail
