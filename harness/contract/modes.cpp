// The values of the axes and which of them go together.
#include <fmt/format.h>

#include <algorithm>

#include "contract/cell.hpp"

namespace stepgauge {
namespace {

constexpr int most_every = 8;
constexpr std::string_view no_sync_prefix = "ddp_no_sync_";

std::vector<std::string> checkpointing_values() {
  std::vector<std::string> out{"none", "full", "selective"};
  for (int k = 2; k <= most_every; ++k) out.push_back(fmt::format("every_{}", k));
  out.push_back("full.reentrant");
  for (int k = 2; k <= most_every; ++k) out.push_back(fmt::format("every_{}.reentrant", k));
  return out;
}

/// What the device rules out.
std::string refused_on_cpu(const Cell& cell) {
  if (cell.device != "cpu") return "";
  if (is_cuda_graph_mode(cell.compile)) return "a CUDA graph needs device cuda";
  if (cell.compile == "compile.reduce-overhead" || cell.compile == "compile.max-autotune")
    return cell.compile + " adds CUDA graphs, which need device cuda";
  if (cell.precision == "tf32") return "tf32 needs a CUDA device; on a CPU it would be fp32 under another name";
  if (is_fp8(cell.precision)) return cell.precision + " needs a CUDA device with fp8 matrix products";
  return "";
}

/// What a hook cannot be used with.
std::string refused_hook(const Cell& cell) {
  const auto& hook = cell.ddp.hook;
  const bool half_gradients = cell.precision == "bf16_pure" || is_fp8(cell.precision);
  if (half_gradients && (hook == "bf16" || hook == "fp16"))
    return fmt::format("gradients of {} are bf16 already: hook {} would compress nothing", cell.precision, hook);
  const bool several_collectives = hook == "fp8" || is_top_k(hook) || hook == "power_sgd";
  if (several_collectives && cell.ddp.find_unused && cell.device == "cpu")
    return fmt::format(
        "with find_unused the Reducer has a collective of its own among those of hook {}; on a CPU their order is not "
        "the same on every rank",
        hook);
  return "";
}

/// What the mode or precision rules out of the ways to reduce gradients.
std::string refused_communication(const Cell& cell) {
  const auto& ddp = cell.ddp;
  const bool own_way = ddp.overlap != "ddp" || !ddp.hook.empty();
  if (own_way && is_python_mode(cell.compile))
    return "overlap strategies and compression hooks are the C++ Reducer's; a Python mode has PyTorch's own";
  if (ddp.overlap == "high_priority_stream" && ddp.backend != "nccl")
    return "high_priority_stream is a CUDA stream of NCCL; " + ddp.backend + " has none";
  if (ddp.overlap == "optimizer_in_hook" && cell.precision == "fp16")
    return "fp16's loss scaler must see every gradient before the first update, which optimizer_in_hook makes earlier";
  if (accumulation_steps(ddp.overlap) > 1 && ddp.static_graph)
    return "a static graph reduces in every backward pass; ddp_no_sync_K leaves some out";
  const bool replayed = is_cuda_graph_mode(cell.compile);
  if (replayed && ddp.overlap == "none")
    return "overlap none waits for the device on the host, which a CUDA graph cannot: use reduce_last";
  if (replayed && ddp.overlap == "optimizer_in_hook" && cell.compile != "cuda_graph")
    return "optimizer_in_hook has no optimizer step outside the graph: use cuda_graph";
  if (ddp.overlap == "optimizer_in_hook" && cell.perturb.wrong == "skip_backward")
    return "perturb.wrong: skip_backward leaves the optimizer's step, which optimizer_in_hook has in the backward pass";
  return refused_hook(cell);
}

}  // namespace

const std::vector<std::string>& known_precisions() {
  static const std::vector<std::string> names{"fp32", "tf32", "bf16", "bf16_pure", "fp16", "fp8", "fp8_delayed"};
  return names;
}
const std::vector<std::string>& known_compile_modes() {
  static const std::vector<std::string> names{"eager",
                                              "torchscript",
                                              "cuda_graph",
                                              "cuda_graph.forward_backward",
                                              "python_eager",
                                              "compile.default",
                                              "compile.reduce-overhead",
                                              "compile.max-autotune",
                                              "compile.max-autotune-no-cudagraphs",
                                              "compile.export"};
  return names;
}
const std::vector<std::string>& known_checkpointing() {
  static const auto names = checkpointing_values();
  return names;
}
const std::vector<std::string>& known_transports() {
  static const std::vector<std::string> names{"auto", "p2p", "nvlink", "p2p_off", "socket", "ib"};
  return names;
}
const std::vector<std::string>& known_overlaps() {
  static const auto names = [] {
    std::vector<std::string> out{"ddp", "none", "high_priority_stream", "reduce_last", "optimizer_in_hook"};
    for (int k = 2; k <= most_every; ++k) out.push_back(fmt::format("{}{}", no_sync_prefix, k));
    return out;
  }();
  return names;
}
const std::vector<std::string>& known_hooks() {
  static const std::vector<std::string> names{"bf16", "fp16", "fp8", "top_k", "top_k_fp8", "power_sgd"};
  return names;
}
const std::vector<std::string>& known_faults() {
  static const std::vector<std::string> names{"kill", "stop", "throw", "other_length", "skip_collective"};
  return names;
}
const std::vector<std::string>& known_phases() {
  static const std::vector<std::string> names{"spawn", "runtime", "rendezvous", "build", "wrap", "compile"};
  return names;
}
const std::vector<std::string>& known_wrongs() {
  static const std::vector<std::string> names{"skip_backward", "stale_input", "recompile", "graph_break",
                                              "no_recompute"};
  return names;
}

bool is_python_mode(const std::string& compile) {
  return compile == "python_eager" || has_compile_caches(compile);
}
bool has_compile_caches(const std::string& compile) {
  return compile.rfind("compile.", 0) == 0;
}
bool is_cuda_graph_mode(const std::string& compile) {
  return compile.rfind("cuda_graph", 0) == 0;
}
bool is_fp8(const std::string& precision) {
  return precision.rfind("fp8", 0) == 0;
}
bool draws_every_step(const std::string& input) {
  return input != "fixed";
}

bool is_top_k(const std::string& hook) {
  return hook.rfind("top_k", 0) == 0;
}

int accumulation_steps(const std::string& overlap) {
  return overlap.rfind(no_sync_prefix, 0) == 0 ? std::stoi(overlap.substr(no_sync_prefix.size())) : 1;
}

Checkpointing checkpointing_of(const std::string& value) {
  Checkpointing out;
  auto name = value;
  if (const auto dot = name.find('.'); dot != std::string::npos) {
    out.reentrant = true;
    name.resize(dot);
  }
  if (name == "full") out.policy = Checkpointing::Policy::full;
  if (name == "selective") out.policy = Checkpointing::Policy::selective;
  if (name.rfind("every_", 0) == 0) {
    out.policy = Checkpointing::Policy::every;
    out.every = std::stoi(name.substr(6));
  }
  return out;
}

std::string unsupported_reason(const Cell& cell) {
  if (auto reason = refused_on_cpu(cell); !reason.empty()) return reason;
  if (auto reason = refused_communication(cell); !reason.empty()) return reason;
  const auto checkpointing = checkpointing_of(cell.checkpointing);
  const bool recomputes = checkpointing.policy != Checkpointing::Policy::none;
  if (cell.compile == "torchscript") {
    if (recomputes) return "TorchScript's tracer records what a checkpointed block computes, not that it is recomputed";
    if (is_fp8(cell.precision)) return "TorchScript's tracer does not keep the backward formula of fp8 products";
    const bool autocast = cell.precision == "bf16" || cell.precision == "fp16";
    if (autocast && cell.workload.family == "llama" && cell.compile_options.executor == "profiling")
      return "TorchScript's own backward of linear layers does not cast gradients as autocast needs; use executor: "
             "simple";
  }
  if (cell.compile == "compile.export") {
    if (recomputes) return "torch.export does not keep checkpointed regions for training";
    if (is_fp8(cell.precision)) return "torch.export does not keep the backward formula of fp8 products";
  }
  if (is_fp8(cell.precision) && cell.workload.family != "llama")
    return fmt::format("fp8 is for matrix products; {} consists of convolutions", cell.workload.name);
  if (checkpointing.policy == Checkpointing::Policy::selective && !is_python_mode(cell.compile))
    return "selective checkpointing chooses by operator, which Python's dispatch alone can do: use python_eager or "
           "compile.*";
  if (const auto& fault = cell.perturb.fault;
      fault && cell.ddp.ranks < 2 && (fault->kind == "other_length" || fault->kind == "skip_collective"))
    return "perturb.fault: " + fault->kind + " is of collectives, which one rank does not make";
  const auto& wrong = cell.perturb.wrong;
  if ((wrong == "recompile" || wrong == "graph_break") && !has_compile_caches(cell.compile))
    return "perturb.wrong: " + wrong + " is for compile.* modes";
  if (wrong == "no_recompute" && !recomputes) return "perturb.wrong: no_recompute needs checkpointing";
  if (cell.compile_options.compiled_autograd && cell.ddp.ranks > 1)
    return "the Reducer of DDP refuses compiled autograd";
  return "";
}

}  // namespace stepgauge
