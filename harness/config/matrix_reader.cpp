#include <fmt/format.h>

#include <algorithm>

#include "config/matrix.hpp"
#include "config/reader.hpp"

namespace stepgauge::config {
namespace {

class MatrixReader {
 public:
  MatrixReader(const Node& root, Matrix& matrix, const std::vector<std::string>& workers)
      : root_(root), matrix_(matrix), workers_(workers) {}

  void read() {
    read_defaults();
    read_axes();
    read_zip();
    order_dimensions();
    read_include();
    each("exclude", "maps of axes to match", [this](const Node& node, const std::string& where) {
      matrix_.excludes.push_back(Pattern::read(node, where, workers_));
    });
    each("overrides", "maps with \"match\" and \"set\"",
         [this](const Node& node, const std::string& where) { read_override(node, where); });
  }

 private:
  struct Placed {
    std::size_t order;  ///< of the first of its axes
    Dimension dimension;
  };

  template <typename Visit>
  void each(const char* key, const char* of, Visit visit) {
    const auto* entry = root_.find(key);
    if (entry == nullptr) return;
    // An empty list is how a suite drops what it inherits.
    if (entry->value->kind == Node::Kind::list && entry->value->items.empty()) return;
    const auto& items = require_list(*entry->value, key, of).items;
    for (std::size_t i = 0; i < items.size(); ++i) visit(*items[i], fmt::format("{}[{}]", key, i));
  }

  const AxisValue* value(Axis axis, const Node& node, const std::string& where, int level, const AxisValue* base) {
    matrix_.values.push_back(completed(read_axis_value(axis, node, where, level, workers_), base));
    return &matrix_.values.back();
  }

  void note_shape(Axis axis, const Mark& mark) {
    if (axis == Axis::image || axis == Axis::sequence) matrix_.shapes.push_back({axis, mark});
  }

  void read_defaults() {
    const auto* entry = root_.find("defaults");
    if (entry == nullptr) return;
    for (const auto& item : require_map(*entry->value, "defaults", axis_names()).entries) {
      const auto axis = *axis_from_name(item.key);
      if (item.value->kind == Node::Kind::list)
        fail(item.value->mark,
             fmt::format("defaults.{0}: expected one value, found a list; lists stand under axes", item.key));
      matrix_.defaults.set(value(axis, *item.value, "defaults." + item.key, level_defaults, nullptr));
      note_shape(axis, item.mark);
    }
  }

  void claim(Axis axis, const Mark& mark) {
    auto& taken = taken_[static_cast<std::size_t>(axis)];
    if (taken)
      fail(mark, fmt::format("axis \"{}\" is in the matrix twice; first at {}", axis_name(axis), place(*taken)));
    taken = mark;
    note_shape(axis, mark);
  }

  std::vector<const AxisValue*> read_list(Axis axis, const Node& node, const std::string& where) {
    std::vector<const AxisValue*> values;
    const auto& items = require_list(node, where, "values").items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      values.push_back(
          value(axis, *items[i], fmt::format("{}[{}]", where, i), level_matrix, matrix_.defaults.at(axis)));
    }
    return values;
  }

  void read_axes() {
    const auto* entry = root_.find("axes");
    if (entry == nullptr) return;
    if (require_map(*entry->value, "axes", axis_names()).entries.empty())
      fail(entry->value->mark, "axes: the map is empty; expected axes with lists of values");
    for (const auto& item : entry->value->entries) {
      const auto axis = *axis_from_name(item.key);
      claim(axis, item.mark);
      Placed placed{static_cast<std::size_t>(axis), {}};
      for (const auto* one : read_list(axis, *item.value, "axes." + item.key)) placed.dimension.steps.push_back({one});
      placed_.push_back(std::move(placed));
    }
  }

  void read_zip() {
    each("zip", "maps of axes that advance together", [this](const Node& node, const std::string& where) {
      if (require_map(node, where, axis_names()).entries.empty())
        fail(node.mark, fmt::format("{}: the map is empty; expected axes with lists of equal length", where));
      Placed placed{axis_count, {}};
      for (const auto& item : node.entries) {
        const auto axis = *axis_from_name(item.key);
        claim(axis, item.mark);
        placed.order = std::min(placed.order, static_cast<std::size_t>(axis));
        const auto values = read_list(axis, *item.value, where + "." + item.key);
        auto& steps = placed.dimension.steps;
        if (steps.empty()) steps.resize(values.size());
        if (steps.size() != values.size()) {
          fail(item.value->mark, fmt::format("{}.{}: expected {} values as in \"{}\", found {}", where, item.key,
                                             steps.size(), node.entries.front().key, values.size()));
        }
        for (std::size_t i = 0; i < values.size(); ++i) steps[i].push_back(values[i]);
      }
      placed_.push_back(std::move(placed));
    });
  }

  void order_dimensions() {
    std::sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) { return a.order < b.order; });
    for (auto& placed : placed_) matrix_.dimensions.push_back(std::move(placed.dimension));
  }

  void read_include() {
    each("include", "maps of axis values", [this](const Node& node, const std::string& where) {
      Include include{matrix_.defaults, node.mark};
      if (require_map(node, where, axis_names()).entries.empty())
        fail(node.mark, fmt::format("{}: the map is empty; expected axis values of one cell", where));
      for (const auto& item : node.entries) {
        const auto axis = *axis_from_name(item.key);
        const auto item_where = where + "." + item.key;
        if (item.value->kind == Node::Kind::list)
          fail(item.value->mark,
               fmt::format("{}: expected one value, found a list; an include is one cell", item_where));
        include.draft.set(value(axis, *item.value, item_where, level_matrix, matrix_.defaults.at(axis)));
      }
      if (include.draft.at(Axis::workload) == nullptr)
        fail(node.mark, fmt::format("{}: \"workload\" is missing, here and in defaults", where));
      for (const auto axis : {Axis::image, Axis::sequence}) {
        if (const auto* item = node.find(axis_name(axis)); item != nullptr && !uses_shape(include.draft, axis))
          fail(item->mark, fmt::format("{}: the workload has no size \"{}\"", where, item->key));
      }
      matrix_.includes.push_back(std::move(include));
    });
  }

  void read_override(const Node& node, const std::string& where) {
    static const std::vector<std::string> keys{"match", "set"};
    static const std::vector<std::string> set_keys = [] {
      auto names = axis_names();
      names.insert(names.end(), policy_keys().begin(), policy_keys().end());
      return names;
    }();
    require_map(node, where, keys);
    const auto* match = node.find("match");
    const auto* set = node.find("set");
    if (match == nullptr || set == nullptr)
      fail(node.mark, fmt::format("{}: \"{}\" is missing", where, match == nullptr ? "match" : "set"));
    Override item{Pattern::read(*match->value, where + ".match", workers_), {}, {}};
    if (require_map(*set->value, where + ".set", set_keys).entries.empty())
      fail(set->value->mark, fmt::format("{}.set: the map is empty; expected what to set", where));
    for (const auto& entry : set->value->entries) {
      const auto entry_where = where + ".set." + entry.key;
      if (const auto axis = axis_from_name(entry.key)) {
        const int level = level_matrix + 1 + static_cast<int>(matrix_.overrides.size());
        item.set.push_back(value(*axis, *entry.value, entry_where, level, nullptr));
      } else {
        read_policy(entry.key, *entry.value, entry_where, item.policy);
      }
    }
    matrix_.overrides.push_back(std::move(item));
  }

  const Node& root_;
  Matrix& matrix_;
  const std::vector<std::string>& workers_;
  std::array<std::optional<Mark>, axis_count> taken_;
  std::vector<Placed> placed_;
};

}  // namespace

Matrix read_matrix(const Node& root, const std::string& suite, const std::vector<std::string>& workers,
                   const PolicyPatch& policy) {
  Matrix matrix;
  matrix.suite = suite;
  matrix.mark = root.mark;
  matrix.policy = policy;
  MatrixReader(root, matrix, workers).read();
  return matrix;
}

}  // namespace stepgauge::config
