// Kernels, copies, memsets and the calls that launched them, by CUPTI's activity API. Built as libstepgauge_cupti.so
// and loaded for the traced pass alone, so that a machine without CUPTI, or with another tool on it, still measures.
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <unordered_map>

#include "worker/trace/device_tracer.hpp"

namespace stepgauge::worker {
namespace {

constexpr std::size_t buffer_bytes = 8u << 20;
constexpr std::size_t buffers_made_ahead = 16;
constexpr std::size_t buffer_alignment = 8;

std::string text_of(CUptiResult result) {
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  return text != nullptr ? text : "CUPTI error " + std::to_string(static_cast<int>(result));
}

void check(CUptiResult result, const char* what) {
  if (result != CUPTI_SUCCESS) throw TracingUnavailable(std::string(what) + ": " + text_of(result));
}

/// Host and device on the clock that the worker's own marks use.
std::uint64_t CUPTIAPI monotonic_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Buffers made before the pass; CUPTI fills them and hands them back from a thread of its own.
class Buffers {
 public:
  struct Filled {
    std::uint8_t* data;
    std::size_t bytes;
  };

  void make_ahead() {
    const std::lock_guard lock(mutex_);
    while (free_.size() < buffers_made_ahead) free_.push_back(make());
  }
  std::uint8_t* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return make();
    auto* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give(std::uint8_t* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    filled_.push_back({data, bytes});
  }
  std::vector<Filled> filled() {
    const std::lock_guard lock(mutex_);
    return std::move(filled_);
  }

 private:
  /// Touched now, so that no page fault happens inside the pass.
  static std::uint8_t* make() {
    auto* data = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    if (data != nullptr) std::fill_n(data, buffer_bytes, std::uint8_t{0});
    return data;
  }

  std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
  std::vector<Filled> filled_;
};

Buffers& buffers() {
  static auto* all = new Buffers;  // CUPTI may still hold one when the process ends
  return *all;
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = buffers().take();
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *max_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  buffers().give(buffer, valid);
}

void CUPTIAPI ignore_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

/// Driver calls that launch work; of the others the trace keeps nothing.
bool launches_work(const std::string& driver_call) {
  static constexpr std::array<const char*, 5> beginnings{"cuLaunch", "cuGraphLaunch", "cuMemset", "cuMemcpy",
                                                         "cuCtxSync"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* text) { return driver_call.compare(0, std::strlen(text), text) == 0; });
}

constexpr std::array<CUpti_ActivityKind, 6> traced_kinds{
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};

const char* memory_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    default:
      return "Unknown";
  }
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "";
  }
}

std::string copy_text(std::uint8_t kind, std::uint8_t from, std::uint8_t to) {
  return std::string("Memcpy ") + copy_name(kind) + " (" + memory_name(from) + " -> " + memory_name(to) + ")";
}

/// Demangled names, each worked out once.
class Names {
 public:
  const std::string& kernel(const char* mangled) {
    const auto [found, fresh] = kernels_.try_emplace(mangled);
    if (fresh) {
      int status = 0;
      char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
      found->second = status == 0 && text != nullptr ? text : mangled;
      std::free(text);
    }
    return found->second;
  }
  const std::string& call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    const auto [found, fresh] = calls_.try_emplace((static_cast<std::uint64_t>(domain) << 32) | id);
    if (fresh) {
      const char* text = nullptr;
      const bool known = cuptiGetCallbackName(domain, id, &text) == CUPTI_SUCCESS && text != nullptr;
      found->second = known ? without_version(text) : "call " + std::to_string(id);
    }
    return found->second;
  }

 private:
  /// "cudaLaunchKernel_v7000" is what people know as cudaLaunchKernel.
  static std::string without_version(std::string name) {
    const auto mark = name.rfind("_v");
    const bool digits = mark != std::string::npos && mark + 2 < name.size() &&
                        name.find_first_not_of("0123456789", mark + 2) == std::string::npos;
    return digits ? name.substr(0, mark) : name;
  }

  std::unordered_map<std::string, std::string> kernels_;
  std::unordered_map<std::uint64_t, std::string> calls_;
};

class Reader {
 public:
  void read(const Buffers::Filled& buffer) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer.data, buffer.bytes, &record) == CUPTI_SUCCESS) take(record);
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS)
      trace_.dropped += static_cast<std::int64_t>(dropped);
  }
  DeviceTrace result() { return std::move(trace_); }

 private:
  void take(const CUpti_Activity* record) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return kernel(*reinterpret_cast<const CUpti_ActivityKernel10*>(record));
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return copy(*reinterpret_cast<const CUpti_ActivityMemcpy6*>(record));
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return copy(*reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record));
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return memset(*reinterpret_cast<const CUpti_ActivityMemset4*>(record));
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return call(*reinterpret_cast<const CUpti_ActivityAPI*>(record));
      default:
        return;
    }
  }

  template <typename Record>
  DeviceActivity& add(DeviceActivity::Kind kind, std::string name, const Record& record) {
    auto& out = trace_.activities.emplace_back();
    out.kind = kind;
    out.name = std::move(name);
    out.begin_ns = static_cast<std::int64_t>(record.start);
    out.end_ns = static_cast<std::int64_t>(record.end);
    out.device = record.deviceId;
    out.stream = record.streamId;
    out.correlation = record.correlationId;
    out.graph_node = record.graphNodeId;
    return out;
  }

  void kernel(const CUpti_ActivityKernel10& record) {
    auto& out = add(DeviceActivity::Kind::kernel, names_.kernel(record.name), record);
    const std::int32_t grid[] = {record.gridX, record.gridY, record.gridZ};
    const std::int32_t block[] = {record.blockX, record.blockY, record.blockZ};
    std::copy_n(grid, 3, out.grid);
    std::copy_n(block, 3, out.block);
    out.registers = record.registersPerThread;
    out.shared_bytes = std::int64_t{record.staticSharedMemory} + record.dynamicSharedMemory;
  }

  template <typename Record>
  void copy(const Record& record) {
    add(DeviceActivity::Kind::memcpy, copy_text(record.copyKind, record.srcKind, record.dstKind), record).bytes =
        record.bytes;
  }

  void memset(const CUpti_ActivityMemset4& record) {
    auto& out = add(DeviceActivity::Kind::memset,
                    std::string("Memset (") + memory_name(static_cast<std::uint8_t>(record.memoryKind)) + ")", record);
    out.bytes = record.bytes;
    out.value = record.value;
  }

  void call(const CUpti_ActivityAPI& record) {
    const bool driver = record.kind == CUPTI_ACTIVITY_KIND_DRIVER;
    const auto domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const auto& name = names_.call(domain, record.cbid);
    if (driver && !launches_work(name)) return;
    trace_.calls.push_back({name, static_cast<std::int64_t>(record.start), static_cast<std::int64_t>(record.end),
                            record.threadId, record.correlationId, driver});
  }

  Names names_;
  DeviceTrace trace_;
};

class CuptiTracer final : public DeviceTracer {
 public:
  ~CuptiTracer() override { end(); }

  void start() override {
    subscribe();
    buffers().make_ahead();
    check(cuptiActivityRegisterTimestampCallback(&monotonic_clock), "CUPTI takes no clock");
    check(cuptiActivityRegisterCallbacks(&buffer_requested, &buffer_completed), "CUPTI takes no buffers");
    for (const auto kind : traced_kinds) check(cuptiActivityEnable(kind), "CUPTI cannot record");
  }

  DeviceTrace stop() override {
    end();
    Reader reader;
    for (const auto& buffer : buffers().filled()) {
      reader.read(buffer);
      std::free(buffer.data);
    }
    return reader.result();
  }

 private:
  /// One subscriber a process: holding it shows that no other tool records here.
  void subscribe() {
    const auto result = cuptiSubscribe(&subscriber_, reinterpret_cast<CUpti_CallbackFunc>(&ignore_callback), nullptr);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
      throw TracingUnavailable("CUPTI is in use by another tool in this process");
    check(result, "CUPTI refused");
    subscribed_ = true;
  }

  void end() {
    if (!subscribed_) return;
    subscribed_ = false;
    for (const auto kind : traced_kinds) cuptiActivityDisable(kind);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cuptiUnsubscribe(subscriber_);
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool subscribed_ = false;
};

}  // namespace
}  // namespace stepgauge::worker

extern "C" stepgauge::worker::DeviceTracer* stepgauge_make_cupti_tracer() {
  return new stepgauge::worker::CuptiTracer;
}
