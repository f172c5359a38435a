#include "stub_record.hpp"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "contract/settled.hpp"
#include "contract/workload_catalogue.hpp"

namespace stepgauge::stub {
namespace {

double matching(const std::vector<GlobValue>& rules, const Cell& cell, double otherwise) {
  for (const auto& [glob, value] : rules) {
    if (::fnmatch(glob.c_str(), cell.id.c_str(), 0) == 0) otherwise = value;
  }
  return otherwise;
}

/// Step times: the same for every rank of a launch, as if they were in step.
class StepTimes {
 public:
  StepTimes(const Options& options, const Cell& cell, int launch) : options_(options) {
    std::uint64_t seed = options.seed;
    for (const char c : cell.hash) seed = seed * 1099511628211ull + static_cast<unsigned char>(c);
    if (options.seed_from_launch) seed += 0x9e3779b97f4a7c15ull * static_cast<std::uint64_t>(launch + 1);
    random_.seed(seed);
    factor_ = (1 + matching(options.slow_if, cell, 0) / 100) * (1 + cell.perturb.step_percent / 100) * jitter();
  }

  double ms(std::int64_t step) {
    double base = step == 0 ? 3 * options_.step_ms : options_.step_ms;
    if (!options_.steps_ms.empty()) {
      base = options_.steps_ms[std::min<std::size_t>(static_cast<std::size_t>(step), options_.steps_ms.size() - 1)];
    }
    return base * factor_ * jitter();
  }

 private:
  double jitter() {
    return options_.noise == 0 ? 1 : std::max(0.1, 1 + options_.noise * std::normal_distribution<>()(random_));
  }

  const Options& options_;
  std::mt19937_64 random_;
  double factor_ = 1;
};

Json kept_environment(bool everything) {
  Json out = Json::object();
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('='));
    const bool known = name.starts_with("NCCL_") || name.starts_with("TORCH_") || name.starts_with("CUDA_") ||
                       name.starts_with("PYTORCH_") || name.starts_with("OMP_");
    if (everything || known) out[std::string(name)] = text.substr(std::min(name.size() + 1, text.size()));
  }
  return out;
}

double work_of(const Cell& cell, std::string& unit) {
  auto work = static_cast<double>(cell.batch);
  for (const auto& family : workload_families()) {
    if (family.name != cell.workload.family) continue;
    unit = family.work_unit;
    const auto shape = cell.workload.sizes.find(family.shape_axis);
    if (unit == "tokens" && shape != cell.workload.sizes.end()) work *= static_cast<double>(shape->second);
  }
  return work;
}

Json losses_of(const Cell& cell, std::size_t steps) {
  Json out = Json::array();
  const auto count = std::min(static_cast<std::size_t>(std::max<std::int64_t>(cell.measure.losses, 0)), steps);
  for (std::size_t i = 0; i < count; ++i) out.push_back(2.3 * std::pow(0.97, static_cast<double>(i)));
  return out;
}

Json recompiled_late(const Cell& cell) {
  return {{"mode", cell.compile},
          {"options", Json::object()},
          {"captures", 2},
          {"captures_late", 1},
          {"graph_breaks", Json::array()},
          {"recompiles",
           {{{"function", "forward"}, {"file", "twin.py"}, {"line", 12}, {"guard", "size mismatch"}, {"late", true}}}}};
}

void run_steps(RankRecord& record, StepTimes times, const Cell& cell, const OnStep& on_step) {
  const auto& measure = cell.measure;
  const auto step = [&](bool measured) {
    const auto index = static_cast<std::int64_t>(record.step_ms.size());
    record.step_ms.push_back(times.ms(index));
    on_step(index, record.step_ms.back(), measured);
  };
  step(false);
  double warmup_s = 0;
  const auto block = static_cast<std::size_t>(std::max<std::int64_t>(measure.warmup_block, 1));
  while (static_cast<std::int64_t>(record.step_ms.size()) <= measure.warmup_max_steps - measure.warmup_block &&
         warmup_s < measure.warmup_max_s && !settled({record.step_ms.data() + 1, record.step_ms.size() - 1}, block)) {
    for (std::size_t i = 0; i < block; ++i) {
      step(false);
      warmup_s += record.step_ms.back() / 1000;
    }
  }
  record.measured_from = record.step_ms.size();
  for (std::int64_t i = 0; i < measure.steps; ++i) step(true);
}

}  // namespace

RankRecord make_record(const Options& options, const Cell& cell, int launch, int rank, const OnStep& on_step) {
  RankRecord record;
  record.cell_id = cell.id;
  record.cell_hash = cell.hash;
  record.launch = launch;
  record.rank = rank;
  record.world_size = cell.ddp.ranks;
  record.phases_s = {{"spawn", 0.01}, {"runtime", 0.2}, {"build", 0.3}, {"wrap", 0.05}};
  if (cell.ddp.ranks > 1) record.phases_s["rendezvous"] = 0.1;
  if (cell.perturb.sleep_s > 0) record.phases_s[cell.perturb.sleep_phase] += cell.perturb.sleep_s;
  run_steps(record, StepTimes(options, cell, launch), cell, on_step);
  record.first_step_s = record.step_ms.front() / 1000;
  record.work_per_step = work_of(cell, record.work_unit);

  record.peak_tflops = cell.peak_tflops > 0 ? cell.peak_tflops : 100;
  record.peak_source = cell.peak_tflops > 0 ? "cell" : "stub";
  record.flops_per_step = 0.4 * *record.peak_tflops * 1e12 * options.step_ms / 1000;  // MFU 40 % when nothing is slowed
  record.flops_formula = "stub: 40 % of the peak at --step-ms";

  const double memory =
      matching(options.memory_if, cell, options.memory_mib) + static_cast<double>(cell.perturb.extra_memory_mib);
  record.memory_first_step = {1.1 * memory, 1.15 * memory, 1.3 * memory};
  record.memory_steady = {memory, 1.05 * memory, 1.3 * memory};
  if (cell.device == "cuda") record.outside_mib = 500;
  record.memory_method = "stub";

  record.detail = {
      {"losses", losses_of(cell, record.step_ms.size())},
      {"settings",
       {{"precision", {{"asked", cell.precision}, {"set", cell.precision}, {"used", cell.precision}}},
        {"transport", {{"asked", cell.ddp.transport}, {"set", cell.ddp.transport}, {"used", cell.ddp.transport}}}}},
      {"device", {{"name", "stub"}}},
      {"software", {{"worker", "stub"}}},
      {"environment", kept_environment(options.dump_environment)}};
  if (!options.detail.empty()) record.detail.update(parse_json(read_text_file(options.detail), options.detail));
  if (options.late_recompile) record.detail["compile"] = recompiled_late(cell);
  return record;
}

}  // namespace stepgauge::stub
