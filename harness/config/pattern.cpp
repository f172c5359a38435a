#include "config/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/glob.hpp"
#include "config/reader.hpp"
#include "contract/suggest.hpp"

namespace stepgauge::config {
namespace {

using Test = std::function<bool(const Cell&)>;

const std::string& text_field(const Cell& cell, Axis axis) {
  switch (axis) {
    case Axis::workload:
      return cell.workload.name;
    case Axis::precision:
      return cell.precision;
    case Axis::compile:
      return cell.compile;
    case Axis::cache:
      return cell.cache;
    case Axis::checkpointing:
      return cell.checkpointing;
    case Axis::memory_format:
      return cell.memory_format;
    case Axis::input:
      return cell.input;
    case Axis::optimizer:
      return cell.optimizer.name;
    case Axis::device:
      return cell.device;
    default:
      return cell.worker;
  }
}

/// A glob must fit a known name, a name must be one: else it could never match.
Test text_test(Axis axis, const Node& node, const std::string& where, const std::vector<std::string>& known) {
  const auto glob = read_text(node, where, "a name or glob");
  const bool possible =
      std::any_of(known.begin(), known.end(), [&](const std::string& name) { return glob_match(glob, name); });
  if (!possible) fail(node.mark, fmt::format("{}: no value is like \"{}\"{}", where, glob, suggestion(glob, known)));
  return [axis, glob](const Cell& cell) { return glob_match(glob, text_field(cell, axis)); };
}

std::vector<std::string> known_names(Axis axis, const std::vector<std::string>& workers) {
  if (axis == Axis::workload) return preset_names();
  if (axis == Axis::optimizer) return {"sgd", "adamw"};
  if (axis == Axis::worker) {
    std::vector<std::string> names{"stepgauge"};
    names.insert(names.end(), workers.begin(), workers.end());
    return names;
  }
  return axis_choices(axis);
}

Test size_test(const std::string& name, std::int64_t value) {
  return [name, value](const Cell& cell) {
    const auto it = cell.workload.sizes.find(name);
    return it != cell.workload.sizes.end() && it->second == value;
  };
}

Test all_of(std::vector<Test> tests) {
  return [tests = std::move(tests)](const Cell& cell) {
    return std::all_of(tests.begin(), tests.end(), [&](const Test& test) { return test(cell); });
  };
}

Test workload_map_test(const Node& node, const std::string& where) {
  std::vector<std::string> keys{"name"};
  for (const auto& family : workload_families()) {
    for (const auto& size : family.sizes) keys.push_back(size.first);
  }
  std::vector<Test> tests;
  for (const auto& entry : require_map(node, where, keys).entries) {
    const auto item = where + "." + entry.key;
    if (entry.key == "name") {
      tests.push_back(text_test(Axis::workload, *entry.value, item, preset_names()));
    } else {
      tests.push_back(size_test(entry.key, read_integer(*entry.value, item, 1, 1 << 30)));
    }
  }
  return all_of(std::move(tests));
}

template <typename T, typename U>
bool agrees(const std::optional<T>& asked, const U& value) {
  return !asked || *asked == value;
}

bool fits(const CompileValue& asked, const Cell& cell) {
  const auto& o = cell.compile_options;
  return agrees(asked.mode, cell.compile) && agrees(asked.executor, o.executor) && agrees(asked.dynamic, o.dynamic) &&
         agrees(asked.fullgraph, o.fullgraph) && agrees(asked.ddp_optimizer, o.ddp_optimizer) &&
         agrees(asked.compiled_autograd, o.compiled_autograd) && agrees(asked.compile_optimizer, o.compile_optimizer);
}

Test value_test(const AxisValue& value) {
  if (const auto* compile = std::get_if<CompileValue>(&value.data))
    return [asked = *compile](const Cell& cell) { return fits(asked, cell); };
  if (const auto* text = std::get_if<std::string>(&value.data))  // the map form of checkpointing
    return [asked = *text, axis = value.axis](const Cell& cell) { return text_field(cell, axis) == asked; };
  if (const auto* ddp = std::get_if<DdpValue>(&value.data)) {
    return [asked = *ddp](const Cell& cell) {
      const auto& d = cell.ddp;
      return agrees(asked.ranks, d.ranks) && agrees(asked.backend, d.backend) && agrees(asked.transport, d.transport) &&
             agrees(asked.bucket_cap_mb, d.bucket_cap_mb) && agrees(asked.first_bucket_mb, d.first_bucket_mb) &&
             agrees(asked.gradient_as_bucket_view, d.gradient_as_bucket_view) &&
             agrees(asked.find_unused, d.find_unused) && agrees(asked.static_graph, d.static_graph) &&
             agrees(asked.wrapper, d.wrapper);
    };
  }
  if (const auto* optimizer = std::get_if<OptimizerValue>(&value.data)) {
    return [asked = *optimizer](const Cell& cell) {
      const auto& o = cell.optimizer;
      return agrees(asked.name, o.name) && agrees(asked.lr, o.lr) && agrees(asked.momentum, o.momentum) &&
             agrees(asked.weight_decay, o.weight_decay);
    };
  }
  if (const auto* env = std::get_if<EnvValue>(&value.data)) {
    return [asked = *env](const Cell& cell) {
      return std::all_of(asked.begin(), asked.end(), [&](const auto& item) {
        const auto it = cell.env.find(item.first);
        return it != cell.env.end() && glob_match(item.second, it->second);
      });
    };
  }
  Cell probe;
  probe.perturb = std::get<PerturbValue>(value.data).perturb;
  return [asked = identity_json(probe)["perturb"]](const Cell& cell) {
    if (asked.is_null() || !is_perturbed(cell)) return asked.is_null() && !is_perturbed(cell);
    return identity_json(cell)["perturb"] == asked;
  };
}

std::string shown(const Node& node) {
  if (node.kind != Node::Kind::list) return node.is_text() ? node.text : describe(node);
  std::string out;
  for (const auto& item : node.items) out += (out.empty() ? "" : " or ") + shown(*item);
  return out;
}

}  // namespace

Pattern::Test Pattern::read_test(Axis axis, const Node& node, const std::string& where,
                                 const std::vector<std::string>& workers) {
  const bool is_map = node.kind == Node::Kind::map;
  switch (axis) {
    case Axis::batch:
      return [value = read_integer(node, where, 1, 1'000'000)](const Cell& cell) { return cell.batch == value; };
    case Axis::seed:
      return [value = read_integer(node, where, 0, std::int64_t{1} << 53)](const Cell& cell) {
        return cell.seed == value;
      };
    case Axis::image:
    case Axis::sequence:
      return size_test(std::string(axis_name(axis)), read_integer(node, where, 1, 1 << 30));
    case Axis::ddp:
    case Axis::env:
    case Axis::perturb:
      return value_test(read_axis_value(axis, node, where, level_matrix, workers));
    case Axis::compile:
    case Axis::checkpointing:
    case Axis::optimizer:
      if (is_map) return value_test(read_axis_value(axis, node, where, level_matrix, workers));
      break;
    case Axis::workload:
      if (is_map) return workload_map_test(node, where);
      break;
    default:
      break;
  }
  return text_test(axis, node, where, known_names(axis, workers));
}

Pattern Pattern::read(const Node& node, const std::string& where, const std::vector<std::string>& workers) {
  Pattern pattern;
  pattern.where_ = where;
  pattern.mark_ = node.mark;
  if (require_map(node, where, axis_names()).entries.empty())
    fail(node.mark, fmt::format("{}: the map is empty; expected axes to match", where));
  for (const auto& entry : node.entries) {
    const auto axis = *axis_from_name(entry.key);
    const auto item_where = fmt::format("{}.{}", where, entry.key);
    Condition condition{axis, entry.value->mark, shown(*entry.value), {}};
    if (entry.value->kind == Node::Kind::list) {
      for (const auto& item : require_list(*entry.value, item_where, "values").items)
        condition.any_of.push_back(read_test(axis, *item, item_where, workers));
    } else {
      condition.any_of.push_back(read_test(axis, *entry.value, item_where, workers));
    }
    pattern.conditions_.push_back(std::move(condition));
  }
  return pattern;
}

bool Pattern::Condition::met(const Cell& cell) const {
  return std::any_of(any_of.begin(), any_of.end(), [&](const Test& test) { return test(cell); });
}

bool Pattern::matches(const Cell& cell) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& c) { return c.met(cell); });
}

void Pattern::fail_unmatched(const std::vector<Cell>& cells) const {
  for (const auto& condition : conditions_) {
    if (std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return condition.met(cell); })) continue;
    fail(condition.mark,
         fmt::format("{}: matches no cell: none has {} {}", where_, axis_name(condition.axis), condition.text));
  }
  fail(mark_, fmt::format("{}: matches no cell: none has all of these values", where_));
}

}  // namespace stepgauge::config
