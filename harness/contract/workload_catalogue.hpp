#pragma once
// What workloads exist and which sizes they take, read from workloads/*/workload.json at build time; no
// Torch.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge {

/// One integer size of a workload family.
struct SizeInfo {
  std::optional<std::int64_t> default_value;  ///< absent: every preset gives it
  std::optional<std::int64_t> min, max;
  std::vector<std::int64_t> choices;  ///< empty: any value within min..max
};

struct WorkloadFamily {
  std::string name;  ///< "resnet", "llama"
  std::string description;
  std::string work_unit;   ///< "samples" or "tokens"
  std::string shape_axis;  ///< the size that the suite's `image` or `sequence` axis sets
  std::string optimizer;   ///< default optimizer
  std::vector<std::string> memory_formats;
  std::map<std::string, SizeInfo> sizes;
  std::map<std::string, std::map<std::string, std::int64_t>> presets;  ///< name in a suite -> sizes it fixes
};

const std::vector<WorkloadFamily>& workload_families();

/// The family that has this preset ("resnet50", "llama.tiny"); nullptr when none has.
const WorkloadFamily* family_of_preset(std::string_view preset);

std::vector<std::string> preset_names();

}  // namespace stepgauge
