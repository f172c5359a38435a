#include "trace/classify.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

namespace stepgauge::trace {
namespace {

/// A demangled kernel's qualified function name in lower case, without template arguments, parameters and "(anonymous
/// namespace)": what a kernel is called decides, not the types that it is made for (an elementwise kernel may carry any
/// name in a functor).
std::string function_name(std::string_view kernel) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const char c = kernel[i];
    const bool arrow = c == '>' && i > 0 && kernel[i - 1] == '-';
    if (c == '<' || c == '(') {
      ++depth;
    } else if ((c == '>' && !arrow) || c == ')') {
      depth = std::max(0, depth - 1);
    } else if (depth == 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

/// `word` not preceded by a letter: "nccl" is in "_Z23ncclDevKernel" but not in "syncClear".
bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if (at == 0 || !std::isalpha(static_cast<unsigned char>(text[at - 1]))) return true;
  return false;
}

bool contains_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](auto word) { return text.find(word) != text.npos; });
}

bool is_communication_kernel(std::string_view name) {
  static constexpr std::array<std::string_view, 4> libraries{"nccl", "rccl", "msccl", "nvshmem"};
  // Kernels without a library's name in theirs: PyTorch's symmetric memory (multimem_..., one_shot_all_reduce,
  // barrier and signals), custom all-reduce of vLLM and its kin (cross_device_reduce), DeepEP, NVSHMEM's barriers.
  static constexpr std::array<std::string_view, 13> words{
      "allreduce",       "allgather", "reducescatter", "alltoall", "crossdevicereduce", "multimem",       "sendrecv",
      "symmetricmemory", "putsignal", "waitsignal",    "deepep::", "barrierkernel",     "barrieronstream"};
  // Reductions inside a thread block carry the name, too.
  static constexpr std::array<std::string_view, 2> local{"warpallreduce", "blockallreduce"};
  // Inductor names a fused kernel after the operators that its inputs come from: "triton_poi_fused_add_all_reduce_0"
  // adds, it does not communicate.
  if (name.starts_with("triton_")) return false;
  auto text = function_name(name);
  if (std::any_of(libraries.begin(), libraries.end(), [&](auto library) { return has_word(text, library); }))
    return true;
  std::erase(text, '_');
  return contains_any(text, words) && !contains_any(text, local);
}

bool is_communication_op(std::string_view name) {
  static constexpr std::array<std::string_view, 6> prefixes{
      "c10d::", "_c10d_functional", "c10d_functional", "record_param_comms", "symm_mem::", "nvshmem"};
  static constexpr std::array<std::string_view, 8> backends{"nccl", "gloo", "mpi",  "ucc",
                                                            "rccl", "xccl", "hccl", "cncl"};
  if (std::any_of(prefixes.begin(), prefixes.end(), [name](auto prefix) { return name.starts_with(prefix); }))
    return true;
  const auto colon = name.find(':');
  if (colon == name.npos || name.substr(colon).starts_with("::")) return false;
  return std::find(backends.begin(), backends.end(), name.substr(0, colon)) != backends.end();
}

bool is_copy_op(std::string_view name) {
  // aten::to, aten::clone and aten::contiguous do nothing but call the others; counted as compute they would hide the
  // copy inside them.
  static constexpr std::array<std::string_view, 16> names{
      "aten::copy_",         "aten::_to_copy",       "aten::to",
      "aten::copy",          "aten::clone",          "aten::contiguous",
      "aten::_copy_from",    "aten::pin_memory",     "aten::_copy_from_and_resize",
      "aten::_pin_memory",   "aten::_foreach_copy_", "ToCopyBackward0",
      "CopyBackwards",       "CloneBackward0",       "torch.distributed.ddp.reducer::copy_bucket_to_grad",
      "aten::_foreach_clone"};
  constexpr std::string_view engine = "autograd::engine::evaluate_function: ";
  if (name.starts_with(engine)) name.remove_prefix(engine.size());
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

ActivityClass classify(ActivityKind kind, std::string_view name) {
  switch (kind) {
    case ActivityKind::memcpy:
    case ActivityKind::memset:
      return ActivityClass::copy;
    case ActivityKind::collective:
      return ActivityClass::communication;
    case ActivityKind::kernel:
      return is_communication_kernel(name) ? ActivityClass::communication : ActivityClass::compute;
    case ActivityKind::host_op:
      if (is_communication_op(name)) return ActivityClass::communication;
      return is_copy_op(name) ? ActivityClass::copy : ActivityClass::compute;
  }
  return ActivityClass::compute;
}

void classify(RankTimeline& timeline) {
  constexpr auto kinds = static_cast<std::size_t>(ActivityKind::collective) + 1;
  std::vector<std::optional<ActivityClass>> known(timeline.names.size() * kinds);
  for (auto& activity : timeline.activities) {
    auto& type = known.at(activity.name * kinds + static_cast<std::size_t>(activity.kind));
    if (!type) type = classify(activity.kind, timeline.names[activity.name]);
    activity.type = *type;
  }
}

}  // namespace stepgauge::trace
