#pragma once
// What the step loop needs from a device. The CPU's is built in; the CUDA one is a library loaded only by
// cuda cells, so that CPU cells and CPU-only builds carry nothing of it.
#include <torch/torch.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "contract/record.hpp"
#include "worker/device_stamps.hpp"
#include "worker/trace/device_tracer.hpp"

namespace stepgauge::worker {

/// Time marks between steps, recorded in the device's own order; nothing is allocated after construction.
class StepClock {
 public:
  virtual ~StepClock() = default;
  /// Records mark `index` (0 .. marks-1) after the work submitted so far; never waits for the device.
  virtual void mark(std::size_t index) = 0;
  /// Waits until mark `last` has passed, calling `alive(done)` with the number of passed marks while it
  /// waits.
  virtual void drain(std::size_t last, const std::function<void(std::size_t)>& alive) = 0;
  /// Milliseconds between marks `index` and `index + 1`; both must have passed.
  virtual double elapsed_ms(std::size_t index) const = 0;
};

/// A cell that this build or machine cannot do; becomes status `unsupported`.
class UnsupportedCell : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A cell whose setting did not take; becomes status `ineffective`.
class IneffectiveCell : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Work of the device, recorded once and replayed.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Runs `work` in capture on the current stream: nothing of it happens yet. Tensors that it makes live in the graph's
  /// own pool. Once.
  virtual void capture(const std::function<void()>& work) = 0;
  virtual void replay() = 0;
  /// Nodes by kind ("kernel", "memcpy", ...) and "all".
  virtual std::map<std::string, std::int64_t> node_kinds() const = 0;
};

class DeviceRoom {
 public:
  virtual ~DeviceRoom() = default;
  virtual torch::Device device() const = 0;
  virtual void synchronize() = 0;
  virtual std::unique_ptr<StepClock> make_clock(std::size_t marks) = 0;
  /// nullptr: what is submitted is done when the call returns, or tells the host itself when it is.
  virtual std::unique_ptr<DeviceStamps> make_stamps() { return nullptr; }

  virtual void reset_peaks() = 0;
  virtual MemoryPeaks peaks() const = 0;
  virtual std::string memory_method() const = 0;
  virtual MemoryPeaks current_memory() const = 0;  ///< now, not the peaks
  /// Allocations made so far; nullopt when the allocator does not count them.
  virtual std::optional<std::int64_t> allocations() const = 0;
  /// Times that the allocator had to free its cache and try again.
  virtual std::optional<std::int64_t> allocation_retries() const { return std::nullopt; }
  /// Largest free block inside what the allocator reserves, MiB; walks all of its blocks.
  virtual std::optional<double> largest_free_mib() const { return std::nullopt; }
  /// The allocator keeps its history from now on; memory_history() is it in the format of PyTorch's memory viewer.
  /// Throws UnsupportedCell where there is none.
  virtual void keep_memory_history() { throw UnsupportedCell("this device's allocator keeps no history"); }
  virtual std::string memory_history() const { return ""; }

  /// Memory that the pools of captured graphs hold, MiB, which the allocator's peaks may miss; walks all segments.
  virtual std::optional<double> graph_pools_mib() const { return std::nullopt; }
  /// Gives cached memory back to the device.
  virtual void release_cache() {}
  /// From now on work goes to a stream that can be captured, not to the default one.
  virtual void leave_default_stream() {}
  virtual std::unique_ptr<DeviceGraph> make_graph() { throw UnsupportedCell("this device captures no graphs"); }

  /// Makes ready for mark(); false where the host's operators are all that a traced pass can see.
  virtual bool prepare_marks() { return false; }
  /// Puts a mark (mark_code) in the order of the current stream; nothing on a CPU.
  virtual void mark(std::uint32_t) {}
  /// Memory in use outside the allocator, MiB; nullopt when it cannot be known.
  virtual std::optional<double> outside_mib() const = 0;
  /// Memory that could still be had, MiB, what the allocator caches included; nullopt when it cannot be known.
  virtual std::optional<double> free_mib() const { return std::nullopt; }
  /// The allocator's numbers, for the evidence of an `oom`.
  virtual Json allocator_numbers() const = 0;

  /// Occupies the device (CUDA: a spinning kernel; CPU: the host thread) for about `ms`: the planted
  /// slowdown.
  virtual void spin(double ms) = 0;

  /// From now on make_backend() makes one whose collectives run on a stream of high priority.
  virtual void prefer_high_priority() { throw UnsupportedCell("this device has no streams of high priority"); }
  /// NCCL or gloo over `store`.
  virtual c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                         int size) = 0;
  virtual c10d::ProcessGroup::BackendType backend_type() const = 0;
  /// One all-reduce (sum, fp32, in place) by the communication library itself, over the backend's communicator on the
  /// current stream; false where the library cannot be called so.
  virtual bool bare_all_reduce(c10d::Backend& /*backend*/, torch::Tensor& /*tensor*/) { return false; }

  virtual Json describe() const = 0;  ///< name, index, memory: for the record
  virtual Json software() const = 0;  ///< versions as loaded
  /// Peak dense TFLOP/s of this device in a precision, with its source; nullopt when unknown.
  virtual std::optional<std::pair<double, std::string>> peak_tflops(const std::string& precision) const = 0;
};

std::unique_ptr<DeviceRoom> make_cpu_room();

/// Loads libstepgauge_cuda.so from beside the program and makes the room of CUDA device `index`.
/// Throws UnsupportedCell when this build has no CUDA part or the machine no such device.
std::unique_ptr<DeviceRoom> make_cuda_room(int index);

/// Loads libstepgauge_python.so (the embedded interpreter) from beside the program and makes a gloo backend
/// with it.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size);

/// Loads libstepgauge_python.so and starts the interpreter with Torch imported: before the device is touched.
void start_python();

/// Loads libstepgauge_cupti.so from beside the program; throws TracingUnavailable.
std::unique_ptr<DeviceTracer> make_cupti_tracer();

/// Whether a loadable part of the worker was built.
bool has_part(const char* library);

}  // namespace stepgauge::worker
