// The CUDA device: events, the caching allocator, NCCL. Built as libstepgauge_cuda.so.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <torch/csrc/cuda/memory_snapshot.h>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "worker/device.hpp"

namespace stepgauge::worker {
namespace {

constexpr double mib = 1024.0 * 1024.0;
namespace allocator = c10::cuda::CUDACachingAllocator;
constexpr auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

std::string version_text(int version, int major, int minor) {
  return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

class CudaClock final : public StepClock {
 public:
  explicit CudaClock(std::size_t marks) {
    for (std::size_t i = 0; i < marks; ++i) events_.emplace_back(cudaEventDefault);
    const auto stream = at::cuda::getCurrentCUDAStream();
    for (auto& event : events_) event.record(stream);  // creates them now: recording allocates nothing later
    stream.synchronize();
  }
  void mark(std::size_t index) override { events_[index].record(at::cuda::getCurrentCUDAStream()); }
  void drain(std::size_t last, const std::function<void(std::size_t)>& alive) override {
    std::size_t done = 0;
    while (!events_[last].query()) {
      const auto before = done;
      while (done < last && events_[done].query()) ++done;
      if (done > before) alive(done);  // silence is how the launcher knows a rank that hangs in a collective
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    events_[last].synchronize();
  }
  double elapsed_ms(std::size_t index) const override { return events_[index].elapsed_time(events_[index + 1]); }

 private:
  std::vector<at::cuda::CUDAEvent> events_;
};

/// Events, on the host's clock by one that both saw: what lies between is by the device's own clock, which drifts
/// against the host's by some microseconds a second.
class CudaStamps final : public DeviceStamps {
 public:
  explicit CudaStamps(c10::DeviceIndex index) : index_(index) {
    const auto stream = at::cuda::getCurrentCUDAStream(index_);
    stream.synchronize();
    zero_.record(stream);
    zero_.synchronize();
    zero_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
                   .count();
  }
  std::optional<std::size_t> put() override {
    const auto stream = at::cuda::getCurrentCUDAStream(index_);
    cudaStreamCaptureStatus capture{};
    if (cudaStreamIsCapturing(stream.stream(), &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone)
      return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.push_back(points_.size());
      points_.push_back(std::make_unique<at::cuda::CUDAEvent>(cudaEventDefault));
    }
    const auto point = free_.back();
    free_.pop_back();
    points_[point]->record(stream);
    return point;
  }
  std::optional<std::int64_t> read(std::size_t point) override {
    const c10::cuda::CUDAGuard guard(index_);  // another thread's current device would get a context of this process
    const std::lock_guard lock(mutex_);
    float ms = 0;
    // No check: a device that is broken fails the launch elsewhere, and tells no times any more.
    if (cudaEventQuery(points_[point]->event()) != cudaSuccess ||
        cudaEventElapsedTime(&ms, zero_.event(), points_[point]->event()) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // "not ready" is left there too
      return std::nullopt;
    }
    free_.push_back(point);
    return zero_ns_ + static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
  }

 private:
  const c10::DeviceIndex index_;
  at::cuda::CUDAEvent zero_{cudaEventDefault};
  std::int64_t zero_ns_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<at::cuda::CUDAEvent>> points_;
  std::vector<std::size_t> free_;  ///< of points_
};

const char* node_kind(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return "kernel";
    case cudaGraphNodeTypeMemcpy:
      return "memcpy";
    case cudaGraphNodeTypeMemset:
      return "memset";
    case cudaGraphNodeTypeHost:
      return "host";
    case cudaGraphNodeTypeGraph:
      return "graph";
    case cudaGraphNodeTypeEmpty:
      return "empty";
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
      return "event";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
      return "memory";
    default:
      return "other";
  }
}

class CudaGraph final : public DeviceGraph {
 public:
  void capture(const std::function<void()>& work) override {
    // Only this thread's calls are watched: NCCL's watchdog and the autograd threads go on.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      try {
        graph_.capture_end();
      } catch (const std::exception&) {  // the capture is broken, which is what `work` has just said
      }
      throw;
    }
    graph_.capture_end();
    graph_.instantiate();
  }
  void replay() override { graph_.replay(); }
  std::map<std::string, std::int64_t> node_kinds() const override {
    std::size_t count = 0;
    C10_CUDA_CHECK(cudaGraphGetNodes(graph_.raw_cuda_graph(), nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    C10_CUDA_CHECK(cudaGraphGetNodes(graph_.raw_cuda_graph(), nodes.data(), &count));
    std::map<std::string, std::int64_t> out{{"all", static_cast<std::int64_t>(count)}};
    for (const auto node : nodes) {
      cudaGraphNodeType type{};
      C10_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
      ++out[node_kind(type)];
    }
    return out;
  }

 private:
  mutable at::cuda::CUDAGraph graph_{/*keep_graph=*/true};  // kept: its nodes are counted
};

struct Peak {
  const char* name;         ///< substring of the device's name
  double fp32, tf32, half;  ///< dense TFLOP/s
  const char* source;
};
// NVIDIA datasheets, dense (half of the figures quoted "with sparsity").
constexpr Peak peaks_table[] = {
    {"H200", 66.9, 494.7, 989.4, "NVIDIA H200 datasheet (SXM, dense)"},
    {"H100 PCIe", 51.2, 378.0, 756.0, "NVIDIA H100 datasheet (PCIe, dense)"},
    {"H100", 66.9, 494.7, 989.4, "NVIDIA H100 datasheet (SXM, dense)"},
    {"A100", 19.5, 156.0, 312.0, "NVIDIA A100 datasheet (dense)"},
    {"L40S", 91.6, 183.0, 362.0, "NVIDIA L40S datasheet (dense)"},
    {"L4", 30.3, 60.0, 121.0, "NVIDIA L4 datasheet (dense)"},
};

class CudaRoom final : public DeviceRoom {
 public:
  explicit CudaRoom(int index) : index_(static_cast<c10::DeviceIndex>(index)) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || index >= count) {
      throw UnsupportedCell("no CUDA device " + std::to_string(index) + " (" + std::to_string(count) + " visible)");
    }
    c10::cuda::set_device(index_);
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    if (const char* text = std::getenv("STEPGAUGE_DEVICE_USED_MIB")) before_mib_ = std::atof(text);
    C10_CUDA_CHECK(cudaFree(nullptr));  // the context is made here, in phase `runtime`
    properties_ = *at::cuda::getDeviceProperties(index_);
  }

  torch::Device device() const override { return {torch::kCUDA, index_}; }
  void synchronize() override { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
  std::unique_ptr<StepClock> make_clock(std::size_t marks) override { return std::make_unique<CudaClock>(marks); }
  std::unique_ptr<DeviceStamps> make_stamps() override { return std::make_unique<CudaStamps>(index_); }

  void reset_peaks() override { allocator::resetPeakStats(index_); }
  MemoryPeaks peaks() const override {
    const auto stats = allocator::getDeviceStats(index_);
    return {static_cast<double>(stats.allocated_bytes[aggregate].peak) / mib,
            static_cast<double>(stats.active_bytes[aggregate].peak) / mib,
            static_cast<double>(stats.reserved_bytes[aggregate].peak) / mib};
  }
  MemoryPeaks current_memory() const override {
    const auto stats = allocator::getDeviceStats(index_);
    return {static_cast<double>(stats.allocated_bytes[aggregate].current) / mib,
            static_cast<double>(stats.active_bytes[aggregate].current) / mib,
            static_cast<double>(stats.reserved_bytes[aggregate].current) / mib};
  }
  std::optional<std::int64_t> allocations() const override {
    return allocator::getDeviceStats(index_).allocation[aggregate].allocated;
  }
  std::optional<std::int64_t> allocation_retries() const override {
    return allocator::getDeviceStats(index_).num_alloc_retries;
  }
  std::optional<double> largest_free_mib() const override {
    std::size_t largest = 0;
    for (const auto& segment : allocator::snapshot().segments) {
      for (const auto& block : segment.blocks) {
        if (!block.active) largest = std::max(largest, block.size);
      }
    }
    return static_cast<double>(largest) / mib;
  }
  void keep_memory_history() override { torch::cuda::_record_memory_history("all", "all", "all"); }
  std::string memory_history() const override { return torch::cuda::_memory_snapshot_pickled(); }

  std::optional<double> graph_pools_mib() const override {
    std::size_t bytes = 0;
    for (const auto& segment : allocator::snapshot().segments) {
      if (segment.owner_private_pool_id.first != 0 || segment.owner_private_pool_id.second != 0)
        bytes += segment.total_size;
    }
    return static_cast<double>(bytes) / mib;
  }
  void release_cache() override { allocator::emptyCache(); }
  void leave_default_stream() override { at::cuda::setCurrentCUDAStream(at::cuda::getStreamFromPool(false, index_)); }
  std::unique_ptr<DeviceGraph> make_graph() override { return std::make_unique<CudaGraph>(); }

  bool prepare_marks() override {
    if (marks_ == nullptr) C10_CUDA_CHECK(cudaMalloc(&marks_, mark_bytes));
    return true;
  }
  void mark(std::uint32_t code) override {
    const auto status = memset_words()(reinterpret_cast<CUdeviceptr>(marks_), mark_code::value, mark_code::words + code,
                                       at::cuda::getCurrentCUDAStream(index_).stream());
    TORCH_CHECK(status == CUDA_SUCCESS, "cuMemsetD32Async failed with error ", static_cast<int>(status));
  }

  std::string memory_method() const override {
    return "CUDA caching allocator; outside: cudaMemGetInfo - reserved - reading before the run";
  }
  std::optional<double> outside_mib() const override {
    if (!before_mib_) return std::nullopt;
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return std::nullopt;
    const auto reserved = allocator::getDeviceStats(index_).reserved_bytes[aggregate].current;
    return (static_cast<double>(total - free) - static_cast<double>(reserved)) / mib - *before_mib_;
  }
  std::optional<double> free_mib() const override {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return std::nullopt;
    const auto stats = allocator::getDeviceStats(index_);
    const auto cached = stats.reserved_bytes[aggregate].current - stats.allocated_bytes[aggregate].current;
    return (static_cast<double>(free) + static_cast<double>(cached)) / mib;
  }
  Json allocator_numbers() const override {
    const auto stats = allocator::getDeviceStats(index_);
    std::size_t free = 0, total = 0;
    Json out{{"allocated_mib", static_cast<double>(stats.allocated_bytes[aggregate].current) / mib},
             {"peak_allocated_mib", static_cast<double>(stats.allocated_bytes[aggregate].peak) / mib},
             {"reserved_mib", static_cast<double>(stats.reserved_bytes[aggregate].current) / mib},
             {"peak_reserved_mib", static_cast<double>(stats.reserved_bytes[aggregate].peak) / mib},
             {"retries", stats.num_alloc_retries},
             {"ooms", stats.num_ooms}};
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
      out["device_free_mib"] = static_cast<double>(free) / mib;
      out["device_total_mib"] = static_cast<double>(total) / mib;
    }
    return out;
  }

  void spin(double ms) override {
    if (cycles_per_ms_ == 0) calibrate_spin();
    at::cuda::sleep(static_cast<std::int64_t>(ms * cycles_per_ms_));
  }

  void prefer_high_priority() override { high_priority_ = true; }
  c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                 int size) override {
    auto options = c10d::ProcessGroupNCCL::Options::create(high_priority_);
    auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
    backend->setBoundDeviceId(device());
    return backend;
  }
  c10d::ProcessGroup::BackendType backend_type() const override { return c10d::ProcessGroup::BackendType::NCCL; }
  bool bare_all_reduce(c10d::Backend& backend, torch::Tensor& tensor) override {
    auto* nccl = dynamic_cast<c10d::ProcessGroupNCCL*>(&backend);
    auto* communicator = nccl == nullptr ? nullptr : reinterpret_cast<ncclComm_t>(nccl->getCommPtr());
    if (communicator == nullptr) return false;
    const auto result =
        ncclAllReduce(tensor.data_ptr(), tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), ncclFloat,
                      ncclSum, communicator, at::cuda::getCurrentCUDAStream(index_).stream());
    TORCH_CHECK(result == ncclSuccess, "ncclAllReduce failed: ", ncclGetErrorString(result));
    return true;
  }

  Json describe() const override {
    char bus[32] = {};
    cudaDeviceGetPCIBusId(bus, sizeof bus, index_);
    return {{"kind", "cuda"},
            {"index", index_},
            {"name", properties_.name},
            {"pci_bus_id", bus},
            {"memory_mib", static_cast<double>(properties_.totalGlobalMem) / mib},
            {"compute_capability", std::to_string(properties_.major) + "." + std::to_string(properties_.minor)},
            {"multiprocessors", properties_.multiProcessorCount}};
  }
  Json software() const override {
    int runtime = 0, driver = 0, nccl = 0;
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    Json out{{"cuda_runtime", version_text(runtime, 1000, 10)},
             {"cuda_driver_api", version_text(driver, 1000, 10)},
             {"cudnn", at::detail::getCUDAHooks().versionCuDNN()}};
    if (ncclGetVersion(&nccl) == ncclSuccess) {
      out["nccl"] =
          std::to_string(nccl / 10000) + "." + std::to_string(nccl / 100 % 100) + "." + std::to_string(nccl % 100);
    }
    return out;
  }
  std::optional<std::pair<double, std::string>> peak_tflops(const std::string& precision) const override {
    for (const auto& peak : peaks_table) {
      if (std::string_view(properties_.name).find(peak.name) == std::string_view::npos) continue;
      if (precision == "fp32") return {{peak.fp32, peak.source}};
      return {{precision == "tf32" ? peak.tf32 : peak.half, peak.source}};
    }
    return std::nullopt;
  }

 private:
  using MemsetWords = CUresult (*)(CUdeviceptr, unsigned int, std::size_t, CUstream);

  /// The driver's memset: the runtime's knows bytes only, and a mark needs a value of its own.
  static MemsetWords memset_words() {
    static const auto function = [] {
      void* found = nullptr;
      cudaDriverEntryPointQueryResult result{};
      C10_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuMemsetD32Async", &found, 12000, cudaEnableDefault, &result));
      TORCH_CHECK(result == cudaDriverEntryPointSuccess, "the driver has no cuMemsetD32Async");
      return reinterpret_cast<MemsetWords>(found);
    }();
    return function;
  }

  /// Cycles of the spinning kernel per millisecond at the clock of now; called between warm-up and
  /// measurement, never inside.
  void calibrate_spin() {
    constexpr std::int64_t cycles = 20'000'000;
    CudaClock clock(2);
    clock.mark(0);
    at::cuda::sleep(cycles);
    clock.mark(1);
    synchronize();
    cycles_per_ms_ = static_cast<double>(cycles) / clock.elapsed_ms(0);
  }

  c10::DeviceIndex index_;
  bool high_priority_ = false;
  cudaDeviceProp properties_{};
  std::optional<double> before_mib_;
  double cycles_per_ms_ = 0;
  static constexpr std::size_t mark_bytes = 4ull * (mark_code::words + mark_code::codes);
  void* marks_ = nullptr;  ///< what marks are written to; outside the allocator, made for the traced pass
};

}  // namespace
}  // namespace stepgauge::worker

extern "C" stepgauge::worker::DeviceRoom* stepgauge_make_cuda_room(int index) {
  return new stepgauge::worker::CudaRoom(index);
}
