#pragma once
// Points in the order of a device's work, whose times are read later.
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stepgauge::worker {

class DeviceStamps {
 public:
  virtual ~DeviceStamps() = default;
  /// Puts a point behind what was submitted to the calling thread's current stream; never waits for the device.
  /// nullopt: none can be put there, since the stream is being captured.
  virtual std::optional<std::size_t> put() = 0;
  /// Unix time in ns at which the device came past the point; nullopt: it has not yet, or will not any more. Never
  /// waits. A point is read once. Any thread.
  virtual std::optional<std::int64_t> read(std::size_t point) = 0;
};

}  // namespace stepgauge::worker
