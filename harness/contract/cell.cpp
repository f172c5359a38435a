#include "contract/cell.hpp"

#include <fmt/format.h>

namespace stepgauge {
namespace {

Json workload_json(const CellWorkload& workload) {
  return {{"name", workload.name}, {"family", workload.family}, {"sizes", workload.sizes}};
}

Json ddp_json(const CellDdp& ddp) {
  Json out{{"ranks", ddp.ranks},
           {"backend", ddp.backend},
           {"transport", ddp.transport},
           {"bucket_cap_mb", ddp.bucket_cap_mb},
           {"first_bucket_mb", ddp.first_bucket_mb},
           {"gradient_as_bucket_view", ddp.gradient_as_bucket_view},
           {"find_unused", ddp.find_unused},
           {"static_graph", ddp.static_graph}};
  if (ddp.nodes != 1) out["nodes"] = ddp.nodes;
  if (!ddp.interface.empty()) out["interface"] = ddp.interface;
  if (ddp.oversubscribe) out["oversubscribe"] = true;
  if (!ddp.wrapper.empty()) out["wrapper"] = ddp.wrapper;
  return out;
}

/// Those that differ from the defaults, so that older identities stay as they were.
Json compile_options_json(const CellCompileOptions& options) {
  const CellCompileOptions standard;
  Json out = Json::object();
  const auto put = [&](const char* key, const auto& value, const auto& usual) {
    if (value != usual) out[key] = value;
  };
  put("executor", options.executor, standard.executor);
  put("fullgraph", options.fullgraph, standard.fullgraph);
  put("dynamic", options.dynamic, standard.dynamic);
  put("ddp_optimizer", options.ddp_optimizer, standard.ddp_optimizer);
  put("compiled_autograd", options.compiled_autograd, standard.compiled_autograd);
  put("compile_optimizer", options.compile_optimizer, standard.compile_optimizer);
  return out;
}

CellCompileOptions compile_options_from_json(const Json& value, const std::string& where) {
  CellCompileOptions out;
  out.executor = optional(value, "executor", out.executor, where);
  out.fullgraph = optional(value, "fullgraph", out.fullgraph, where);
  out.dynamic = optional(value, "dynamic", out.dynamic, where);
  out.ddp_optimizer = optional(value, "ddp_optimizer", out.ddp_optimizer, where);
  out.compiled_autograd = optional(value, "compiled_autograd", out.compiled_autograd, where);
  out.compile_optimizer = optional(value, "compile_optimizer", out.compile_optimizer, where);
  return out;
}

Json optimizer_json(const CellOptimizer& optimizer) {
  return {{"name", optimizer.name},
          {"lr", optimizer.lr},
          {"momentum", optimizer.momentum},
          {"weight_decay", optimizer.weight_decay}};
}

Json perturb_json(const Cell& cell) {
  if (!is_perturbed(cell)) return nullptr;
  const auto& perturb = cell.perturb;
  Json out{{"step_percent", perturb.step_percent}, {"extra_memory_mib", perturb.extra_memory_mib}};
  if (perturb.step_sleep_us + perturb.step_copy_mib + perturb.step_kernels > 0) {  // older identities stay as they were
    out["each_step"] = {
        {"sleep_us", perturb.step_sleep_us}, {"copy_mib", perturb.step_copy_mib}, {"kernels", perturb.step_kernels}};
  }
  if (!perturb.wrong.empty()) out["wrong"] = perturb.wrong;
  out["sleep"] =
      perturb.sleep_s == 0 ? Json(nullptr) : Json{{"phase", perturb.sleep_phase}, {"seconds", perturb.sleep_s}};
  out["fault"] = nullptr;
  if (perturb.fault) {
    out["fault"] = {{"kind", perturb.fault->kind}, {"rank", perturb.fault->rank}, {"step", perturb.fault->step}};
  }
  return out;
}

CellPerturb perturb_from_json(const Json& value, const std::string& where) {
  CellPerturb perturb;
  if (value.is_null()) return perturb;
  perturb.step_percent = optional(value, "step_percent", 0.0, where);
  perturb.extra_memory_mib = optional<std::int64_t>(value, "extra_memory_mib", 0, where);
  if (const auto each = optional<Json>(value, "each_step", nullptr, where); !each.is_null()) {
    perturb.step_sleep_us = optional<std::int64_t>(each, "sleep_us", 0, where + ".each_step");
    perturb.step_copy_mib = optional<std::int64_t>(each, "copy_mib", 0, where + ".each_step");
    perturb.step_kernels = optional<std::int64_t>(each, "kernels", 0, where + ".each_step");
  }
  perturb.wrong = optional<std::string>(value, "wrong", "", where);
  if (const auto sleep = optional<Json>(value, "sleep", nullptr, where); !sleep.is_null()) {
    perturb.sleep_phase = require<std::string>(sleep, "phase", where + ".sleep");
    perturb.sleep_s = require<double>(sleep, "seconds", where + ".sleep");
  }
  if (const auto fault = optional<Json>(value, "fault", nullptr, where); !fault.is_null()) {
    perturb.fault =
        CellFault{require<std::string>(fault, "kind", where + ".fault"), require<int>(fault, "rank", where + ".fault"),
                  require<std::int64_t>(fault, "step", where + ".fault")};
  }
  return perturb;
}

Json policy_json(const Cell& cell) {
  Json tolerance = Json::object();
  for (const auto& [metric, value] : cell.tolerance) {
    tolerance[metric] = Json::object();
    if (value.relative) tolerance[metric]["relative"] = *value.relative;
    if (value.floor) tolerance[metric]["floor"] = *value.floor;
  }
  return {{"launches", cell.launches},
          {"measure",
           {{"steps", cell.measure.steps},
            {"warmup_block", cell.measure.warmup_block},
            {"warmup_max_steps", cell.measure.warmup_max_steps},
            {"warmup_max_s", cell.measure.warmup_max_s},
            {"losses", cell.measure.losses},
            {"trace_steps", cell.measure.trace_steps},
            {"keep_trace", cell.measure.keep_trace},
            {"parity_steps", cell.measure.parity_steps},
            {"graphs", cell.measure.graphs},
            {"ir_census", cell.measure.ir_census}}},
          {"limits",
           {{"launch_s", cell.limits.launch_s},
            {"silence_s", cell.limits.silence_s},
            {"grace_s", cell.limits.grace_s},
            {"compile_s", cell.limits.compile_s}}},
          {"requires",
           {{"gpus", cell.needs.gpus},
            {"gpu_memory_gib", cell.needs.gpu_memory_gib},
            {"compute_capability", cell.needs.compute_capability},
            {"link", cell.needs.link},
            {"memory_gib", cell.needs.memory_gib}}},
          {"tolerance", tolerance},
          {"price_per_gpu_hour", cell.price_per_gpu_hour},
          {"peak_tflops", cell.peak_tflops}};
}

void read_policy(Cell& cell, const Json& value, const std::string& where) {
  cell.launches = optional(value, "launches", cell.launches, where);
  cell.price_per_gpu_hour = optional(value, "price_per_gpu_hour", 0.0, where);
  cell.peak_tflops = optional(value, "peak_tflops", 0.0, where);
  const auto measure = optional<Json>(value, "measure", Json::object(), where);
  auto& m = cell.measure;
  m.steps = optional(measure, "steps", m.steps, where + ".measure");
  m.warmup_block = optional(measure, "warmup_block", m.warmup_block, where + ".measure");
  m.warmup_max_steps = optional(measure, "warmup_max_steps", m.warmup_max_steps, where + ".measure");
  m.warmup_max_s = optional(measure, "warmup_max_s", m.warmup_max_s, where + ".measure");
  m.losses = optional(measure, "losses", m.losses, where + ".measure");
  m.trace_steps = optional(measure, "trace_steps", m.trace_steps, where + ".measure");
  m.keep_trace = optional(measure, "keep_trace", m.keep_trace, where + ".measure");
  m.parity_steps = optional(measure, "parity_steps", m.parity_steps, where + ".measure");
  m.graphs = optional(measure, "graphs", m.graphs, where + ".measure");
  m.ir_census = optional(measure, "ir_census", m.ir_census, where + ".measure");
  const auto limits = optional<Json>(value, "limits", Json::object(), where);
  cell.limits.launch_s = optional(limits, "launch_s", cell.limits.launch_s, where + ".limits");
  cell.limits.silence_s = optional(limits, "silence_s", cell.limits.silence_s, where + ".limits");
  cell.limits.grace_s = optional(limits, "grace_s", cell.limits.grace_s, where + ".limits");
  cell.limits.compile_s = optional(limits, "compile_s", cell.limits.compile_s, where + ".limits");
  const auto needs = optional<Json>(value, "requires", Json::object(), where);
  cell.needs.gpus = optional(needs, "gpus", 0, where + ".requires");
  cell.needs.gpu_memory_gib = optional(needs, "gpu_memory_gib", 0.0, where + ".requires");
  cell.needs.compute_capability = optional(needs, "compute_capability", 0.0, where + ".requires");
  cell.needs.link = optional<std::string>(needs, "link", "", where + ".requires");
  cell.needs.memory_gib = optional(needs, "memory_gib", 0.0, where + ".requires");
  const auto tolerances = optional<Json>(value, "tolerance", Json::object(), where);
  for (const auto& [metric, item] : tolerances.items()) {
    auto& tolerance = cell.tolerance[metric];
    if (item.contains("relative")) tolerance.relative = require<double>(item, "relative", where + ".tolerance");
    if (item.contains("floor")) tolerance.floor = require<double>(item, "floor", where + ".tolerance");
  }
}

CellDdp ddp_from_json(const Json& value, const std::string& where) {
  CellDdp ddp;
  ddp.ranks = require<int>(value, "ranks", where);
  ddp.backend = require<std::string>(value, "backend", where);
  ddp.transport = require<std::string>(value, "transport", where);
  ddp.bucket_cap_mb = require<double>(value, "bucket_cap_mb", where);
  ddp.first_bucket_mb = require<double>(value, "first_bucket_mb", where);
  ddp.gradient_as_bucket_view = require<bool>(value, "gradient_as_bucket_view", where);
  ddp.find_unused = require<bool>(value, "find_unused", where);
  ddp.static_graph = require<bool>(value, "static_graph", where);
  ddp.nodes = optional(value, "nodes", 1, where);
  ddp.interface = optional<std::string>(value, "interface", "", where);
  ddp.oversubscribe = optional(value, "oversubscribe", false, where);
  ddp.wrapper = optional<std::string>(value, "wrapper", "", where);
  return ddp;
}

}  // namespace

Json identity_json(const Cell& cell) {
  Json out{{"worker", cell.worker},
           {"device", cell.device},
           {"workload", workload_json(cell.workload)},
           {"batch", cell.batch},
           {"precision", cell.precision},
           {"compile", cell.compile},
           {"checkpointing", cell.checkpointing},
           {"memory_format", cell.memory_format},
           {"input", cell.input},
           {"optimizer", optimizer_json(cell.optimizer)},
           {"ddp", ddp_json(cell.ddp)},
           {"env", cell.env},
           {"seed", cell.seed},
           {"perturb", perturb_json(cell)}};
  if (auto options = compile_options_json(cell.compile_options); !options.empty()) out["compile_options"] = options;
  if (!cell.cache.empty()) out["cache"] = cell.cache;
  return out;
}

Json to_json(const Cell& cell) {
  Json out = identity_json(cell);
  out.update(policy_json(cell));
  out["schema"] = "stepgauge.cell";
  out["version"] = cell_version;
  out["id"] = cell.id;
  out["hash"] = cell.hash;
  out["suite"] = cell.suite;
  return out;
}

Cell cell_from_json(const Json& value, std::string_view origin) {
  const std::string where(origin);
  if (require<std::string>(value, "schema", where) != "stepgauge.cell")
    throw ContractError(where + ": not a cell document");
  if (const auto version = require<int>(value, "version", where); version > cell_version) {
    throw ContractError(fmt::format("{}: cell version {}, this program reads up to {}", where, version, cell_version));
  }
  Cell cell;
  cell.id = require<std::string>(value, "id", where);
  cell.hash = require<std::string>(value, "hash", where);
  cell.suite = optional<std::string>(value, "suite", "", where);
  cell.worker = require<std::string>(value, "worker", where);
  cell.device = require<std::string>(value, "device", where);
  const auto workload = require<Json>(value, "workload", where);
  cell.workload.name = require<std::string>(workload, "name", where + ".workload");
  cell.workload.family = require<std::string>(workload, "family", where + ".workload");
  cell.workload.sizes = require<std::map<std::string, std::int64_t>>(workload, "sizes", where + ".workload");
  cell.batch = require<std::int64_t>(value, "batch", where);
  cell.precision = require<std::string>(value, "precision", where);
  cell.compile = require<std::string>(value, "compile", where);
  cell.compile_options = compile_options_from_json(optional<Json>(value, "compile_options", Json::object(), where),
                                                   where + ".compile_options");
  cell.cache = optional<std::string>(value, "cache", "", where);
  cell.checkpointing = require<std::string>(value, "checkpointing", where);
  cell.memory_format = require<std::string>(value, "memory_format", where);
  cell.input = require<std::string>(value, "input", where);
  const auto optimizer = require<Json>(value, "optimizer", where);
  cell.optimizer = {require<std::string>(optimizer, "name", where + ".optimizer"),
                    require<double>(optimizer, "lr", where + ".optimizer"),
                    require<double>(optimizer, "momentum", where + ".optimizer"),
                    require<double>(optimizer, "weight_decay", where + ".optimizer")};
  cell.ddp = ddp_from_json(require<Json>(value, "ddp", where), where + ".ddp");
  cell.env = require<std::map<std::string, std::string>>(value, "env", where);
  cell.seed = require<std::int64_t>(value, "seed", where);
  cell.perturb = perturb_from_json(optional<Json>(value, "perturb", nullptr, where), where + ".perturb");
  read_policy(cell, value, where);
  return cell;
}

}  // namespace stepgauge
