// The CPU as a device: host clock, an allocator that counts, gloo.
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>

#include "worker/device.hpp"

namespace stepgauge::worker {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double mib = 1024.0 * 1024.0;

/// Wraps Torch's CPU allocator and counts the bytes it hands out, so that a CPU cell has an exact allocator peak too.
/// The size stands in a header before the data: raw_allocate() demands that the data pointer is its own context.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* base) : base_(base) { instance = this; }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
    auto* block = static_cast<char*>(base_->raw_allocate(bytes + header));
    std::memcpy(block, &bytes, sizeof bytes);
    ++allocations_;
    const auto now = current_.fetch_add(bytes) + bytes;
    for (auto peak = peak_.load(); peak < now && !peak_.compare_exchange_weak(peak, now);) {
    }
    return {block + header, block + header, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* dest, const void* src, std::size_t count) const override { base_->copy_data(dest, src, count); }

  void reset_peak() { peak_ = current_.load(); }
  std::size_t peak() const { return peak_; }
  std::size_t current() const { return current_; }
  std::int64_t allocations() const { return allocations_; }

 private:
  static constexpr std::size_t header = 64;  ///< keeps the alignment that Torch's allocator gives
  static inline CountingAllocator* instance = nullptr;

  static void release(void* data) {
    if (data == nullptr) return;
    auto* block = static_cast<char*>(data) - header;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    instance->current_.fetch_sub(bytes);
    instance->base_->raw_deallocate(block);
  }

  c10::Allocator* base_;
  std::atomic<std::size_t> current_{0}, peak_{0};
  std::atomic<std::int64_t> allocations_{0};
};

CountingAllocator& counting_allocator() {
  static auto* allocator = new CountingAllocator(c10::GetCPUAllocator());  // outlives every tensor
  return *allocator;
}

class CpuClock final : public StepClock {
 public:
  explicit CpuClock(std::size_t marks) : marks_(marks) {}
  void mark(std::size_t index) override { marks_[index] = Clock::now(); }
  void drain(std::size_t, const std::function<void(std::size_t)>&) override {}
  double elapsed_ms(std::size_t index) const override {
    return std::chrono::duration<double, std::milli>(marks_[index + 1] - marks_[index]).count();
  }

 private:
  std::vector<Clock::time_point> marks_;
};

/// A line "field:  N kB" of a file in /proc.
std::optional<double> proc_mib(const char* file, const std::string& field) {
  std::ifstream status(file);
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1)) / 1024;
  }
  return std::nullopt;
}

std::optional<double> status_mib(const std::string& field) {
  return proc_mib("/proc/self/status", field);
}

class CpuRoom final : public DeviceRoom {
 public:
  CpuRoom() { c10::SetCPUAllocator(&counting_allocator(), 1); }

  torch::Device device() const override { return torch::kCPU; }
  void synchronize() override {}
  std::unique_ptr<StepClock> make_clock(std::size_t marks) override { return std::make_unique<CpuClock>(marks); }

  void reset_peaks() override { counting_allocator().reset_peak(); }
  MemoryPeaks peaks() const override {
    return {static_cast<double>(counting_allocator().peak()) / mib, std::nullopt, std::nullopt};
  }
  MemoryPeaks current_memory() const override {
    return {static_cast<double>(counting_allocator().current()) / mib, std::nullopt, std::nullopt};
  }
  std::optional<std::int64_t> allocations() const override { return counting_allocator().allocations(); }
  std::string memory_method() const override { return "bytes handed out by Torch's CPU allocator"; }
  std::optional<double> outside_mib() const override { return std::nullopt; }
  std::optional<double> free_mib() const override { return proc_mib("/proc/meminfo", "MemAvailable"); }
  Json allocator_numbers() const override {
    Json out{{"allocated_mib", static_cast<double>(counting_allocator().current()) / mib},
             {"peak_allocated_mib", static_cast<double>(counting_allocator().peak()) / mib}};
    if (const auto rss = status_mib("VmRSS")) out["resident_mib"] = *rss;
    if (const auto peak = status_mib("VmHWM")) out["peak_resident_mib"] = *peak;
    return out;
  }

  void spin(double ms) override {
    const auto end = Clock::now() + std::chrono::duration<double, std::milli>(ms);
    while (Clock::now() < end) {
    }
  }

  c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                 int size) override {
    return make_gloo_backend(store, rank, size);
  }
  /// Not GLOO: of that type, Torch's DDP logger takes any backend for a ProcessGroupGloo and reads what ours is not.
  c10d::ProcessGroup::BackendType backend_type() const override { return c10d::ProcessGroup::BackendType::CUSTOM; }

  Json describe() const override {
    Json out{{"kind", "cpu"}, {"threads", at::get_num_threads()}};
    if (const auto peak = status_mib("VmHWM")) out["peak_resident_mib"] = *peak;
    return out;
  }
  Json software() const override { return Json::object(); }
  std::optional<std::pair<double, std::string>> peak_tflops(const std::string&) const override { return std::nullopt; }
};

}  // namespace

std::unique_ptr<DeviceRoom> make_cpu_room() {
  return std::make_unique<CpuRoom>();
}

}  // namespace stepgauge::worker
