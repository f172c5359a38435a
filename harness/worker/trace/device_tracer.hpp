#pragma once
// What a device's own tracer records: the CUPTI part fills it for CUDA, a CPU has none.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace stepgauge::worker {

/// A kernel, copy or memset on the device; times in ns of CLOCK_MONOTONIC.
struct DeviceActivity {
  enum class Kind : std::uint8_t { kernel, memcpy, memset };
  Kind kind = Kind::kernel;
  std::string name;  ///< demangled kernel, or what Kineto calls the copy
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t device = 0, stream = 0, correlation = 0;
  std::uint64_t graph_node = 0;
  std::uint64_t bytes = 0;  ///< of copies and memsets
  std::uint32_t value = 0;  ///< of memsets
  std::int32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
  std::uint32_t registers = 0;
  std::int64_t shared_bytes = 0;
};

/// A call of the CUDA runtime or driver.
struct ApiCall {
  std::string name;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t thread = 0, correlation = 0;
  bool driver = false;
};

struct DeviceTrace {
  std::vector<DeviceActivity> activities;
  std::vector<ApiCall> calls;
  std::int64_t dropped = 0;
};

/// Tracing cannot be had here; what() says why. Timing goes on without it.
class TracingUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class DeviceTracer {
 public:
  virtual ~DeviceTracer() = default;
  /// Begins to record; throws TracingUnavailable.
  virtual void start() = 0;
  /// Ends, waits for what the device still does, and hands the records over.
  virtual DeviceTrace stop() = 0;
};

/// Marks in the order of the device's stream: memsets whose length says what begins. Not their value, which CUPTI 13.0
/// reports wrongly for memsets of a CUDA graph (the one of the last memset outside of it).
namespace mark_code {
constexpr std::uint32_t value = 0x5A5A5A5A;
constexpr std::uint32_t step = 256;      ///< codes below are phases
constexpr std::uint32_t codes = 8192;    ///< all codes are below
constexpr std::uint32_t words = 86'531;  ///< length of code 0 in words of 4 bytes; one word more for each code

constexpr bool is_step(std::uint32_t code) {
  return code >= step;
}
}  // namespace mark_code

}  // namespace stepgauge::worker
