// Identity of a cell: canonical JSON, hash, readable id.
#include <fmt/format.h>

#include "contract/cell.hpp"
#include "contract/digest.hpp"
#include "contract/workload_catalogue.hpp"

namespace stepgauge {
namespace {

std::string number_text(double value) {
  return fmt::format("{:g}", value);
}

std::string perturb_text(const CellPerturb& perturb) {
  std::string out;
  if (perturb.step_percent != 0) out += fmt::format(".step+{}%", number_text(perturb.step_percent));
  if (perturb.sleep_s != 0) out += fmt::format(".{}+{}s", perturb.sleep_phase, number_text(perturb.sleep_s));
  if (perturb.extra_memory_mib != 0) out += fmt::format(".memory+{}MiB", perturb.extra_memory_mib);
  if (perturb.step_sleep_us != 0) out += fmt::format(".each+{}us", perturb.step_sleep_us);
  if (perturb.step_copy_mib != 0) out += fmt::format(".each+copy{}MiB", perturb.step_copy_mib);
  if (perturb.step_kernels != 0) out += fmt::format(".each+{}kernels", perturb.step_kernels);
  if (!perturb.wrong.empty()) out += "." + perturb.wrong;
  if (perturb.rank) out += fmt::format("@rank{}", *perturb.rank);
  if (perturb.fault)
    out += fmt::format(".{}@rank{}step{}", perturb.fault->kind, perturb.fault->rank, perturb.fault->step);
  return out;
}

/// Options of the mode that differ from its defaults, e.g. "+fullgraph+dynamic.on"; then the state of its caches.
std::string mode_text(const Cell& cell) {
  auto out = cell.compile;
  const auto& options = cell.compile_options;
  const CellCompileOptions standard;
  if (options.executor != standard.executor) out += "+" + options.executor;
  if (options.fullgraph) out += "+fullgraph";
  if (options.dynamic != standard.dynamic) out += "+dynamic." + options.dynamic;
  if (!options.ddp_optimizer) out += "+ddp_optimizer.off";
  if (options.compiled_autograd) out += "+compiled_autograd";
  if (options.compile_optimizer) out += "+optimizer";
  if (!cell.cache.empty()) out += "." + cell.cache;
  return out;
}

/// What differs from plain DDP on one host with the library's own choices.
std::string communication_text(const CellDdp& ddp) {
  std::string out;
  if (ddp.backend == "mpi") out += ".mpi";
  if (ddp.nodes > 1) out += fmt::format(".nodes{}", ddp.nodes);
  if (ddp.oversubscribe) out += ".oversubscribed";
  for (const auto* text : {&ddp.interface, &ddp.algorithm, &ddp.protocol}) {
    if (!text->empty()) out += "." + *text;
  }
  if (ddp.channels > 0) out += fmt::format(".ch{}", ddp.channels);
  if (!ddp.topology_file.empty()) out += ".topology";
  if (ddp.overlap != CellDdp{}.overlap) out += ddp.overlap == "none" ? ".no_overlap" : "." + ddp.overlap;
  if (!ddp.hook.empty()) out += "." + ddp.hook;
  if (is_top_k(ddp.hook)) out += fmt::format("_{}%", number_text(100 * ddp.hook_share));
  if (ddp.hook == "power_sgd") out += fmt::format("_r{}", ddp.hook_rank);
  if (!ddp.error_feedback) out += ".no_feedback";
  return out;
}

/// Sizes that differ from the preset's own, e.g. "image32.width16"; the shape axis is shown by its first
/// letter, always when set.
std::string size_text(const CellWorkload& workload) {
  const auto* family = family_of_preset(workload.name);
  std::string out;
  for (const auto& [name, value] : workload.sizes) {
    if (family != nullptr) {
      const auto& preset = family->presets.at(workload.name);
      const auto fixed = preset.find(name);
      const auto size = family->sizes.find(name);
      if (fixed != preset.end() && fixed->second == value) continue;
      if (fixed == preset.end() && size != family->sizes.end() && size->second.default_value == value) continue;
    }
    out += fmt::format(".{}{}", name, value);
  }
  return out;
}

std::string readable_id(const Cell& cell) {
  std::string id = fmt::format("{}{}.b{}/{}/{}", cell.workload.name, size_text(cell.workload), cell.batch,
                               mode_text(cell), cell.precision);
  if (cell.checkpointing != "none") id += "/ckpt." + cell.checkpointing;
  id += fmt::format("/{}.ddp{}", cell.device, cell.ddp.ranks);
  if (cell.ddp.transport != "auto") id += "." + cell.ddp.transport;
  id += communication_text(cell.ddp);
  if (cell.ddp.static_graph) id += ".static_graph";
  if (cell.ddp.wrapper == "reducer") id += ".reducer";
  if (cell.memory_format != "contiguous") id += "/" + cell.memory_format;
  if (cell.input != "fixed") id += "/" + cell.input;
  for (const auto& [name, value] : cell.env) id += fmt::format("/{}={}", name, value.substr(0, 24));
  if (cell.worker != "stepgauge") id += "/worker." + cell.worker;
  if (is_perturbed(cell)) id += "/PERTURBED" + perturb_text(cell.perturb);
  for (auto& c : id) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || static_cast<unsigned char>(c) >= 0x7f) c = '_';
  }
  return id;
}

}  // namespace

bool is_perturbed(const Cell& cell) {
  const auto& perturb = cell.perturb;
  return perturb.step_percent != 0 || perturb.sleep_s != 0 || perturb.extra_memory_mib != 0 ||
         perturb.step_sleep_us != 0 || perturb.step_copy_mib != 0 || perturb.step_kernels != 0 ||
         !perturb.wrong.empty() || perturb.fault.has_value();
}

void assign_identity(Cell& cell) {
  cell.hash = sha256_hex(dump_line(identity_json(cell))).substr(0, 8);
  cell.id = readable_id(cell) + "-" + cell.hash;
}

}  // namespace stepgauge
