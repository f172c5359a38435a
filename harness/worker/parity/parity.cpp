#include "worker/parity/parity.hpp"

#include <algorithm>
#include <cmath>

#include "worker/data_source.hpp"
#include "worker/eager_program.hpp"

namespace stepgauge::worker {
namespace {

constexpr std::int64_t sample_elements = 4096;
constexpr std::uint64_t data_stream = 7919;  ///< batches of their own, not those of the measured steps
// A double precision step beyond this would take longer than all that it checks.
constexpr double fp64_flops = 2e12;

/// Every n-th element, at most sample_elements of them, as a copy on the device in fp32 (fp64 stays).
torch::Tensor strided_sample(const torch::Tensor& tensor) {
  const auto flat = tensor.detach().contiguous().flatten();
  const auto step = std::max<std::int64_t>(1, (flat.numel() + sample_elements - 1) / sample_elements);
  const auto taken = flat.slice(0, 0, flat.numel(), step);
  return taken.to(taken.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32, false, /*copy=*/true);
}

std::vector<double> on_host(const torch::Tensor& tensor) {
  const auto host = tensor.to(torch::kCPU, torch::kDouble).contiguous();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

std::vector<torch::Tensor> samples_of(const NamedTensors& parameters) {
  std::vector<torch::Tensor> out;
  for (const auto& [name, parameter] : parameters) out.push_back(strided_sample(parameter));
  return out;
}

/// Moves every weight by a relative 2^-17, up or down by chance: the rounding of a sum of some thousand products.
void shake(const workloads::Model& model, std::uint64_t seed) {
  constexpr double rounding = 1.0 / (1 << 17);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model.parameters()) {
    const auto up_or_down =
        at::randint(0, 2, parameter.sizes(), make_generator(parameter.device(), seed++), parameter.options());
    parameter.mul_(1 + rounding * (2 * up_or_down - 1));
  }
}

/// Why steps of a cell are not compared with uncompressed ones; empty when they are.
std::string not_comparable(const Cell& cell) {
  const auto& hook = cell.ddp.hook;
  if (!is_top_k(hook) && hook != "power_sgd") return "";
  return "not compared: hook " + hook +
         " leaves out most of a gradient in each step; its losses are to be compared "
         "with those of the same cell without a hook";
}

/// The precision whose floors hold: that of the cell, or the type in which its gradients travel where that is coarser.
std::string coarsest_of(const Cell& cell) {
  static const std::vector<std::string> finest_first{"fp32", "tf32", "fp16", "bf16", "bf16_pure", "fp8", "fp8_delayed"};
  const auto place = [](const std::string& name) { return std::find(finest_first.begin(), finest_first.end(), name); };
  const auto& hook = cell.ddp.hook;
  return !hook.empty() && place(hook) > place(cell.precision) ? hook : cell.precision;
}

class Reference {
 public:
  Reference(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room, int rank, RankGroup* group)
      : cell_(cell), workload_(workload), room_(room), rank_(rank), group_(group) {}

  /// The eager program of the cell in `precision`, which may be "fp64" too. `shaken`: from weights that are rounded
  /// in another way.
  Trajectory run(const std::string& precision, const std::vector<workloads::Batch>& batches,
                 bool shaken = false) const {
    auto cell = cell_;
    cell.compile = "eager";
    cell.checkpointing = "none";
    cell.perturb = {};
    cell.precision = precision;
    cell.input = "fixed";
    cell.ddp.overlap = CellDdp{}.overlap;
    cell.ddp.hook.clear();
    EagerProgram program(cell, workload_, room_, rank_);
    at::globalContext().setBenchmarkCuDNN(false);  // a search for the fastest algorithm is not worth three steps
    if (group_ != nullptr) program.wrap(*group_);
    // The weights that the cell's program started from, as its own type rounded them.
    const auto type_of_cell = make_precision_policy(cell_.precision, room_.device()).parameters;
    const auto initial = build_model(cell_, workload_, room_.device(), type_of_cell);
    if (shaken) shake(*initial, static_cast<std::uint64_t>(cell_.seed) + 1);
    program.restart_from(*initial);
    std::vector<workloads::Batch> typed;
    const auto policy = make_precision_policy(precision, room_.device());
    for (const auto& batch : batches) typed.push_back(converted(batch, policy.input));
    return follow(program, typed, policy.loss_scaling);
  }

 private:
  const Cell& cell_;
  const workloads::Workload& workload_;
  DeviceRoom& room_;
  int rank_;
  RankGroup* group_;
};

}  // namespace

Trajectory follow(StepProgram& program, const std::vector<workloads::Batch>& batches, bool loss_scaling) {
  Trajectory out;
  std::vector<torch::Tensor> losses, before = samples_of(program.parameters()), gradients;
  torch::Tensor norm;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    program.set_batch(batches[i]);
    losses.push_back(program.step().clone());
    if (i > 0) continue;
    std::vector<torch::Tensor> norms;
    for (const auto& [name, parameter] : program.parameters()) {
      const auto gradient = parameter.grad();
      if (!gradient.defined()) throw std::runtime_error("parameter " + name + " has no gradient after a step");
      gradients.push_back(strided_sample(gradient));
      norms.push_back(at::linalg_vector_norm(
          gradient, 2, {}, false, gradient.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32));
    }
    norm = at::stack(norms).norm();
  }
  // The fused optimizer unscales where it reads: what it leaves behind is still scaled.
  const double scale = loss_scaling ? restart_loss_scale : 1;
  for (const auto& loss : losses) out.losses.push_back(loss.item<double>());
  out.gradient_norm = norm.item<double>() / scale;
  const auto parameters = program.parameters();
  const auto after = samples_of(parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto gradient = on_host(gradients[i]);
    for (auto& value : gradient) value /= scale;
    out.samples.push_back({parameters[i].first, std::move(gradient), on_host(after[i].sub(before[i]))});
  }
  return out;
}

Json check_parity(std::unique_ptr<StepProgram> program, const Cell& cell, const workloads::Workload& workload,
                  DeviceRoom& room, int rank, RankGroup* group) {
  if (const auto reason = not_comparable(cell); !reason.empty()) return {{"absent", reason}};
  const auto policy = make_precision_policy(cell.precision, room.device());
  DataSource source(cell, workload, room.device(), torch::kFloat32, rank, data_stream);
  std::vector<workloads::Batch> batches, typed;
  for (std::int64_t i = 0; i < cell.measure.parity_steps; ++i) {
    batches.push_back(source.draw());
    typed.push_back(converted(batches.back(), policy.input));
  }
  program->restart();
  const auto value = follow(*program, typed, policy.loss_scaling);
  program.reset();
  room.synchronize();
  room.release_cache();
  const Reference reference(cell, workload, room, rank, group);
  const std::string best = workload.flops(cell.batch).per_step <= fp64_flops ? "fp64" : "fp32";
  try {
    const auto expected = reference.run(best, batches);
    room.release_cache();
    // Two runs in the best precision would differ by nothing, or by chance: how far a rounding carries shows otherwise.
    const auto spread = reference.run(cell.precision, batches, cell.precision == best);
    auto out = compare_trajectories(value, spread, expected, coarsest_of(cell));
    out["reference"] = "eager " + best;
    return out;
  } catch (const c10::OutOfMemoryError&) {
    return {{"absent", "the eager " + best + " reference does not fit into the device's memory"}};
  }
}

}  // namespace stepgauge::worker
