// Axis values that may be maps: workload, compile, checkpointing, ddp, optimizer, env, perturb.
#include <fmt/format.h>

#include <algorithm>

#include "config/axes.hpp"
#include "config/env_allow_list.hpp"
#include "config/reader.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config::detail {
namespace {

const WorkloadFamily& find_family(const Node& node, const std::string& where) {
  const auto name = read_text(node, where, "a workload's name");
  const auto* family = family_of_preset(name);
  if (family == nullptr) {
    const auto names = preset_names();
    fail(node.mark, fmt::format("{}: unknown workload \"{}\"{}", where, name, suggestion(name, names)));
  }
  return *family;
}

std::int64_t read_size(const Node& node, const std::string& where, const SizeInfo& size) {
  const auto value = read_integer(node, where, size.min.value_or(1), size.max.value_or(1 << 30));
  if (!size.choices.empty() && std::find(size.choices.begin(), size.choices.end(), value) == size.choices.end())
    fail(node.mark, fmt::format("{}: expected one of {}, found {}", where, fmt::join(size.choices, ", "), value));
  return value;
}

/// Sizes that must divide each other; the worker would refuse them too, but only once it runs.
void check_llama(const WorkloadValue& value, const Node& node, const std::string& where) {
  const auto& sizes = value.workload.sizes;
  const auto hidden = sizes.at("hidden"), heads = sizes.at("heads"), kv_heads = sizes.at("kv_heads");
  const auto mark_of = [&](std::initializer_list<const char*> keys) {
    for (const auto* key : keys) {
      if (const auto* entry = node.find(key)) return entry->value->mark;
    }
    return node.mark;
  };
  if (hidden % heads != 0)
    fail(mark_of({"hidden", "heads"}),
         fmt::format("{}: hidden ({}) must be a multiple of heads ({})", where, hidden, heads));
  if (heads % kv_heads != 0) {
    fail(mark_of({"kv_heads", "heads"}),
         fmt::format("{}: heads ({}) must be a multiple of kv_heads ({})", where, heads, kv_heads));
  }
  if (hidden / heads % 2 != 0) {
    fail(mark_of({"hidden", "heads"}),
         fmt::format("{}: hidden / heads ({}) must be even (rotary embedding)", where, hidden / heads));
  }
}

struct MapReader {
  const Node& node;
  const std::string& where;

  template <typename Read>
  auto get(const char* key, Read read) const {
    using Value = decltype(read(node, where));
    const auto* entry = node.find(key);
    if (entry == nullptr) return std::optional<Value>{};
    return std::optional<Value>(read(*entry->value, where + "." + key));
  }
  std::optional<double> number(const char* key, double min, double max) const {
    return get(key, [=](const Node& n, const std::string& w) { return read_number(n, w, min, max); });
  }
  std::optional<bool> boolean(const char* key) const {
    return get(key, [](const Node& n, const std::string& w) { return read_bool(n, w); });
  }
  std::optional<std::int64_t> integer(const char* key, std::int64_t min, std::int64_t max) const {
    return get(key, [=](const Node& n, const std::string& w) { return read_integer(n, w, min, max); });
  }
  std::optional<std::string> choice(const char* key, const std::vector<std::string>& known) const {
    return get(key, [&](const Node& n, const std::string& w) { return read_choice(n, w, known); });
  }
  const Node& require(const char* key) const {
    const auto* entry = node.find(key);
    if (entry == nullptr) fail(node.mark, fmt::format("{}: \"{}\" is missing", where, key));
    return *entry->value;
  }
  Mark mark_of(const char* key) const {
    const auto* entry = node.find(key);
    return entry == nullptr ? node.mark : entry->value->mark;
  }
};

CellFault read_fault(const Node& node, const std::string& where) {
  static const std::vector<std::string> keys{"kind", "rank", "step"}, kinds{"kill", "stop", "throw"};
  const MapReader map{require_map(node, where, keys), where};
  CellFault fault;
  fault.kind = read_choice(map.require("kind"), where + ".kind", kinds);
  fault.rank = static_cast<int>(map.integer("rank", 0, 4095).value_or(0));
  fault.step = map.integer("step", 0, 1'000'000'000).value_or(0);
  return fault;
}

}  // namespace

WorkloadValue read_workload(const Node& node, const std::string& where) {
  WorkloadValue value;
  const bool is_map = node.kind == Node::Kind::map;
  const MapReader map{node, where};
  if (!is_map && !node.is_text())
    fail(node.mark, fmt::format("{}: expected a workload's name or a map with \"name\" and sizes, found {}", where,
                                describe(node)));
  const auto& name = is_map ? map.require("name") : node;
  value.family = &find_family(name, is_map ? where + ".name" : where);
  value.workload = {name.text, value.family->name, {}};
  const auto& preset = value.family->presets.at(name.text);
  std::vector<std::string> keys{"name"};
  for (const auto& [size_name, size] : value.family->sizes) {
    keys.push_back(size_name);
    const auto fixed = preset.find(size_name);
    value.workload.sizes[size_name] = fixed != preset.end() ? fixed->second : size.default_value.value_or(1);
  }
  if (is_map) {
    require_map(node, where, keys);
    for (const auto& entry : node.entries) {
      if (entry.key == "name") continue;
      value.workload.sizes[entry.key] =
          read_size(*entry.value, where + "." + entry.key, value.family->sizes.at(entry.key));
      value.given.insert(entry.key);
    }
    if (value.family->name == "llama") check_llama(value, node, where);
  }
  return value;
}

CompileValue read_compile(const Node& node, const std::string& where) {
  static const std::vector<std::string> executors{"profiling", "simple"}, dynamics{"auto", "on", "off"};
  static const std::vector<std::string> keys{"mode",          "executor",          "fullgraph",        "dynamic",
                                             "ddp_optimizer", "compiled_autograd", "compile_optimizer"};
  CompileValue compile;
  if (node.kind != Node::Kind::map) {
    if (!node.is_text())
      fail(node.mark, fmt::format("{}: expected a compile mode or a map, found {}", where, describe(node)));
    compile.mode = read_choice(node, where, known_compile_modes());
    return compile;
  }
  const MapReader map{require_map(node, where, keys), where};
  compile.mode = map.choice("mode", known_compile_modes());
  compile.executor = map.choice("executor", executors);
  compile.fullgraph = map.boolean("fullgraph");
  compile.dynamic = map.choice("dynamic", dynamics);
  compile.ddp_optimizer = map.boolean("ddp_optimizer");
  compile.compiled_autograd = map.boolean("compiled_autograd");
  compile.compile_optimizer = map.boolean("compile_optimizer");
  for (const auto& entry : node.entries) {
    if (entry.key != "mode") compile.marks[entry.key] = entry.mark;
  }
  return compile;
}

std::string read_checkpointing(const Node& node, const std::string& where) {
  static const std::vector<std::string> keys{"policy", "every", "reentrant"}, policies{"none", "full", "selective"};
  const auto& known = known_checkpointing();
  if (node.kind != Node::Kind::map) {
    auto text = read_text(node, where, "a checkpointing policy or a map");
    if (std::find(known.begin(), known.end(), text) != known.end()) return text;
    const auto near = nearest_name(text, known);
    fail(node.mark,
         fmt::format("{}: unknown value \"{}\"; {}known: none, full, every_K (K from 2 to 8), selective; full "
                     "and every_K may end in .reentrant",
                     where, text, near.empty() ? "" : fmt::format("did you mean \"{}\"? ", near)));
  }
  const MapReader map{require_map(node, where, keys), where};
  auto text = read_choice(map.require("policy"), where + ".policy", policies);
  const auto every = map.integer("every", 1, 8).value_or(1);
  const bool reentrant = map.boolean("reentrant").value_or(false);
  if (text != "full" && every > 1)
    fail(map.mark_of("every"), fmt::format("{}.every: only policy full takes each K-th block, found {}", where, text));
  if (text != "full" && reentrant)
    fail(map.mark_of("reentrant"),
         fmt::format("{}.reentrant: only policy full may be reentrant, found {}", where, text));
  if (every > 1) text = fmt::format("every_{}", every);
  return reentrant ? text + ".reentrant" : text;
}

DdpValue read_ddp(const Node& node, const std::string& where) {
  static const std::vector<std::string> keys{
      "ranks",       "backend",      "transport", "bucket_cap_mb", "first_bucket_mb", "gradient_as_bucket_view",
      "find_unused", "static_graph", "wrapper",   "nodes",         "interface",       "oversubscribe"};
  static const std::vector<std::string> backends{"nccl", "gloo", "mpi"}, wrappers{"torch", "reducer"};
  constexpr int max_ranks = 4096;
  DdpValue ddp;
  if (node.kind != Node::Kind::map) {
    if (!node.is_text())
      fail(node.mark, fmt::format("{}: expected a number of ranks or a map, found {}", where, describe(node)));
    ddp.ranks = static_cast<int>(read_integer(node, where, 1, max_ranks));
    return ddp;
  }
  const MapReader map{require_map(node, where, keys), where};
  if (const auto ranks = map.integer("ranks", 1, max_ranks)) ddp.ranks = static_cast<int>(*ranks);
  if (const auto nodes = map.integer("nodes", 1, max_ranks)) ddp.nodes = static_cast<int>(*nodes);
  ddp.nodes_mark = map.mark_of("nodes");
  ddp.backend = map.choice("backend", backends);
  ddp.backend_mark = map.mark_of("backend");
  ddp.transport = map.choice("transport", known_transports());
  ddp.transport_mark = map.mark_of("transport");
  ddp.bucket_cap_mb = map.number("bucket_cap_mb", 0.001, 1e6);
  ddp.first_bucket_mb = map.number("first_bucket_mb", 0.001, 1e6);
  ddp.gradient_as_bucket_view = map.boolean("gradient_as_bucket_view");
  ddp.find_unused = map.boolean("find_unused");
  ddp.static_graph = map.boolean("static_graph");
  ddp.interface =
      map.get("interface", [](const Node& n, const std::string& w) { return read_text(n, w, "a network interface"); });
  ddp.oversubscribe = map.boolean("oversubscribe");
  ddp.wrapper = map.choice("wrapper", wrappers);
  if (ddp.ranks == 1 && ddp.transport && *ddp.transport != "auto")
    fail(ddp.transport_mark,
         fmt::format("{}.transport: \"{}\" needs at least 2 ranks, found ranks: 1", where, *ddp.transport));
  return ddp;
}

OptimizerValue read_optimizer(const Node& node, const std::string& where) {
  static const std::vector<std::string> keys{"name", "lr", "momentum", "weight_decay"}, names{"sgd", "adamw"};
  OptimizerValue optimizer;
  if (node.kind != Node::Kind::map) {
    if (!node.is_text())
      fail(node.mark, fmt::format("{}: expected an optimizer's name or a map, found {}", where, describe(node)));
    optimizer.name = read_choice(node, where, names);
    return optimizer;
  }
  const MapReader map{require_map(node, where, keys), where};
  optimizer.name = map.choice("name", names);
  optimizer.lr = map.number("lr", 0, 1000);
  optimizer.momentum = map.number("momentum", 0, 1);
  optimizer.momentum_mark = map.mark_of("momentum");
  optimizer.weight_decay = map.number("weight_decay", 0, 1000);
  return optimizer;
}

EnvValue read_env(const Node& node, const std::string& where) {
  EnvValue env;
  for (const auto& entry : require_map(node, where).entries) {
    if (const auto refusal = cell_variable_refusal(entry.key); !refusal.empty())
      fail(entry.mark, fmt::format("{}: a cell must not set {}: {}", where, entry.key, refusal));
    env[entry.key] = read_text(*entry.value, where + "." + entry.key, "the variable's value as a string");
  }
  return env;
}

PerturbValue read_perturb(const Node& node, const std::string& where) {
  static const std::vector<std::string> keys{"step_percent", "sleep", "extra_memory_mib",
                                             "each_step",    "wrong", "fault"};
  static const std::vector<std::string> each_keys{"sleep_us", "copy_mib", "kernels"};
  static const std::vector<std::string> sleep_keys{"phase", "seconds"};
  PerturbValue value;
  if (node.is_text() && node.text == "none") return value;
  if (node.kind != Node::Kind::map)
    fail(node.mark, fmt::format("{}: expected none or a map, found {}", where, describe(node)));
  const MapReader map{require_map(node, where, keys), where};
  value.perturb.step_percent =
      map.get("step_percent", [](const Node& n, const std::string& w) { return read_percent(n, w, 10000); })
          .value_or(0);
  if (const auto* entry = node.find("sleep")) {
    const auto sleep_where = where + ".sleep";
    const MapReader sleep{require_map(*entry->value, sleep_where, sleep_keys), sleep_where};
    value.perturb.sleep_phase = read_choice(sleep.require("phase"), sleep_where + ".phase", known_phases());
    value.perturb.sleep_s = read_number(sleep.require("seconds"), sleep_where + ".seconds", 0.001, 86400);
  }
  value.perturb.extra_memory_mib = map.integer("extra_memory_mib", 0, 100'000'000).value_or(0);
  if (const auto* entry = node.find("each_step")) {
    const auto each_where = where + ".each_step";
    const MapReader each{require_map(*entry->value, each_where, each_keys), each_where};
    value.perturb.step_sleep_us = each.integer("sleep_us", 0, 1'000'000).value_or(0);
    value.perturb.step_copy_mib = each.integer("copy_mib", 0, 65'536).value_or(0);
    value.perturb.step_kernels = each.integer("kernels", 0, 10'000).value_or(0);
  }
  value.perturb.wrong = map.choice("wrong", known_wrongs()).value_or("");
  if (const auto* entry = node.find("fault")) {
    value.perturb.fault = read_fault(*entry->value, where + ".fault");
    const auto* rank = entry->value->find("rank");
    value.fault_rank_mark = rank != nullptr ? rank->value->mark : entry->value->mark;
  }
  return value;
}

}  // namespace stepgauge::config::detail
