// A libnvidia-ml.so of the tests' own: what it says stands in the JSON file that STEPGAUGE_FAKE_NVML names and is read
// again at every call, so that a test can change it under way. A value that the file lacks is "not supported".
//
//   {"devices": [{"name": "Fake H200", "uuid": "GPU-f0", "memory_mib": 143771, "memory_used_mib": 600, "sm_mhz": 1980,
//                 "sm_max_mhz": 1980, "memory_mhz": 3201, "power_w": 300, "temperature_c": 40, "throttle": 0,
//                 "ecc_uncorrected": 0, "nvlinks": 18, "pcie_generation": 5, "pcie_width": 16, "ancestor": 50,
//                 "processes": [{"pid": 1, "mib": 512}], "xids": [79]}]}
//
// "mib" null: the driver does not tell. Each Xid of the list comes in once.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using Json = nlohmann::json;

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int insufficient_size = 7;
constexpr int timed_out = 10;
constexpr unsigned long long xid_event = 0x8;
constexpr double bytes_per_mib = 1024.0 * 1024.0;

std::map<std::size_t, std::size_t> xids_told;

/// Handles are 1 + the index, so that none is null.
std::size_t index_of(void* device) {
  return reinterpret_cast<std::size_t>(device) - 1;
}

Json script() {
  const char* path = std::getenv("STEPGAUGE_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  return Json::parse(file, nullptr, false);
}

Json device_of(void* device) {
  const auto all = script();
  const auto index = index_of(device);
  if (!all.is_object() || index >= all.at("devices").size()) return Json::object();
  return all.at("devices").at(index);
}

template <typename Number>
int tell(void* device, const char* key, Number* out, double scale = 1) {
  const auto all = device_of(device);
  const auto value = all.find(key);
  if (value == all.end()) return not_supported;
  *out = static_cast<Number>(value->get<double>() * scale);
  return success;
}

int tell_text(const std::string& text, char* out, unsigned size) {
  std::snprintf(out, size, "%s", text.c_str());
  return success;
}

struct Memory {
  unsigned long long total, free, used;
};

struct Process {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return script().is_object() ? success : not_supported;
}
int nvmlShutdown() {
  return success;
}
const char* nvmlErrorString(int) {
  return "the script cannot be read";
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return tell_text("999.1", out, size);
}
int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = 13000;
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const auto all = script();
  *count = all.is_object() ? static_cast<unsigned>(all.at("devices").size()) : 0;
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return success;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return tell_text(device_of(device).value("name", "Fake"), out, size);
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return tell_text(device_of(device).value("uuid", "GPU-fake"), out, size);
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  double total = 0;
  double used = 0;
  const int error = std::max(tell(device, "memory_mib", &total), tell(device, "memory_used_mib", &used));
  if (error != success) return error;
  out->total = static_cast<unsigned long long>(total * bytes_per_mib);
  out->used = static_cast<unsigned long long>(used * bytes_per_mib);
  out->free = out->total - out->used;
  return success;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return success;
}
int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* out) {
  return tell(device, type == 1 ? "sm_mhz" : "memory_mhz", out);
}
int nvmlDeviceGetMaxClockInfo(void* device, unsigned type, unsigned* out) {
  return tell(device, type == 1 ? "sm_max_mhz" : "memory_max_mhz", out);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* out) {
  return tell(device, "power_w", out, 1000);
}
int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* out) {
  return tell(device, "temperature_c", out);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  return tell(device, "throttle", out);
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter, unsigned long long* out) {
  return type == 1 && counter == 0 ? tell(device, "ecc_uncorrected", out) : invalid_argument;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* out) {
  const auto all = device_of(device);
  const auto processes = all.find("processes");
  if (processes == all.end()) return not_supported;
  const auto room = *count;
  *count = static_cast<unsigned>(processes->size());
  if (processes->size() > room) return insufficient_size;
  for (const auto& process : *processes) {
    const auto& mib = process.at("mib");
    *out++ = {process.at("pid").get<unsigned>(),
              mib.is_null() ? ~0ull : static_cast<unsigned long long>(mib.get<double>() * bytes_per_mib), 0, 0};
  }
  return success;
}
int nvmlDeviceGetSupportedEventTypes(void* device, unsigned long long* out) {
  *out = device_of(device).contains("xids") ? xid_event : 0;
  return success;
}
int nvmlEventSetCreate(void** out) {
  static int only;
  *out = &only;
  return success;
}
int nvmlEventSetFree(void*) {
  return success;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long types, void*) {
  return types == xid_event ? success : not_supported;
}
int nvmlEventSetWait_v2(void*, Event* out, unsigned) {
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  for (std::size_t i = 0; i < count; ++i) {
    void* const device = reinterpret_cast<void*>(i + 1);
    const auto xids = device_of(device).value("xids", Json::array());
    if (xids_told[i] >= xids.size()) continue;
    *out = {device, xid_event, xids.at(xids_told[i]++).get<unsigned long long>(), 0, 0};
    return success;
  }
  return timed_out;
}

/// All NVLinks go to switches.
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* out) {
  unsigned links = 0;
  if (const int error = tell(device, "nvlinks", &links); error != success) return error;
  *out = link < links ? 1 : 0;
  return success;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, unsigned* out) {
  *out = 2;
  return success;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* out) {
  return tell(device, "pcie_generation", out);
}
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* out) {
  return tell(device, "pcie_width", out);
}
int nvmlDeviceGetTopologyCommonAncestor(void* device, void*, unsigned* out) {
  return tell(device, "ancestor", out);
}

}  // extern "C"
