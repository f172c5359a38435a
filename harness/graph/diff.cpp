#include "graph/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "graph/view.hpp"

namespace stepgauge::graph {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
/// Nodes that are alike in more regions than this say nothing of which region is which.
constexpr std::size_t telling_regions = 16;

struct Item {
  const Node* node = nullptr;
  std::size_t region = 0;  ///< index in its snapshot
};

/// Nodes of both sides that could be the same.
struct Alike {
  std::vector<Item> a, b;
};
using ByKey = std::unordered_map<std::string, Alike>;

/// AOT autograd's graphs are one stage: a recomputed node is the same operator in the other graph.
std::string stage_of(const Region& region) {
  return region.kind.starts_with("aot_") ? "aot" : region.kind;
}

std::string region_name(const Region& region) {
  return region.kind + ":" + region.name;
}

/// Without the line: what is left when a source file was edited.
std::string loose_key(const Region& region, const Node& node) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", stage_of(region), node.op, node.target, own_function(node.place),
                     shape_text(node));
}

std::string exact_key(const Region& region, const Node& node) {
  return loose_key(region, node) + "\n" + place_text({node.place.file, node.place.line, ""});
}

class Comparer {
 public:
  Comparer(const Snapshot& a, const Snapshot& b)
      : a_(a), b_(b), to_b_(a.regions.size(), nowhere), to_a_(b.regions.size(), nowhere) {
    out_.a = a.source;
    out_.b = b.source;
    out_.mode_a = a.mode;
    out_.mode_b = b.mode;
    out_.cell_a = a.cell_id;
    out_.cell_b = b.cell_id;
  }

  SnapshotDiff make() {
    ByKey exact;
    collect(a_, exact, &Alike::a);
    collect(b_, exact, &Alike::b);
    pair_by_name();
    pair_by_nodes(exact);
    auto left = settle(exact, false);
    left = settle(left, true);
    for (const auto& [key, alike] : left) {
      for (const auto& item : alike.a) add(Change::vanished, item, item.region, nowhere);
      for (const auto& item : alike.b) add(Change::appeared, item, nowhere, item.region);
    }
    regions();
    order();
    return std::move(out_);
  }

 private:
  using RowKey = std::tuple<Change, std::string, std::string, std::string, std::size_t, std::size_t>;

  static void collect(const Snapshot& snapshot, ByKey& into, std::vector<Item> Alike::*side) {
    for (std::size_t i = 0; i < snapshot.regions.size(); ++i) {
      for (const auto& node : snapshot.regions[i].nodes) {
        if (is_call(node)) (into[exact_key(snapshot.regions[i], node)].*side).push_back({&node, i});
      }
    }
  }

  void join(std::size_t a, std::size_t b) {
    to_b_[a] = b;
    to_a_[b] = a;
  }

  void pair_by_name() {
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::size_t>> named;
    for (std::size_t i = b_.regions.size(); i-- > 0;)
      named[{b_.regions[i].kind, b_.regions[i].name, b_.regions[i].place.function}].push_back(i);
    for (std::size_t i = 0; i < a_.regions.size(); ++i) {
      auto& candidates = named[{a_.regions[i].kind, a_.regions[i].name, a_.regions[i].place.function}];
      if (candidates.empty()) continue;
      join(i, candidates.back());
      candidates.pop_back();
    }
  }

  /// Regions that were renamed, since the compiler numbers them in the order in which it meets them.
  void pair_by_nodes(const ByKey& exact) {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> overlap;
    for (const auto& [key, alike] : exact) {
      const auto in_a = counts(alike.a, to_b_), in_b = counts(alike.b, to_a_);
      if (in_a.size() > telling_regions || in_b.size() > telling_regions) continue;
      for (const auto& [a, count_a] : in_a) {
        for (const auto& [b, count_b] : in_b) {
          if (a_.regions[a].kind == b_.regions[b].kind) overlap[{a, b}] += std::min(count_a, count_b);
        }
      }
    }
    std::vector<std::pair<std::size_t, std::pair<std::size_t, std::size_t>>> pairs;
    for (const auto& [pair, count] : overlap) pairs.push_back({count, pair});
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    for (const auto& [count, pair] : pairs) {
      if (to_b_[pair.first] == nowhere && to_a_[pair.second] == nowhere) join(pair.first, pair.second);
    }
  }

  /// Of the items in regions that have no counterpart yet.
  static std::map<std::size_t, std::size_t> counts(const std::vector<Item>& items,
                                                   const std::vector<std::size_t>& counterpart) {
    std::map<std::size_t, std::size_t> out;
    for (const auto& item : items) {
      if (counterpart[item.region] == nowhere) ++out[item.region];
    }
    return out;
  }

  /// Takes out the nodes that are where they were, then pairs those that are elsewhere. Returns what is left, by its
  /// loose key.
  ByKey settle(ByKey& found, bool other_line) {
    ByKey left;
    for (auto& [key, alike] : found) {
      stay(alike, other_line);
      const auto moved = std::min(alike.a.size(), alike.b.size());
      for (std::size_t i = 0; i < moved; ++i) add(Change::moved, alike.b[i], alike.a[i].region, alike.b[i].region);
      const auto rest = static_cast<std::ptrdiff_t>(moved);
      for (auto item = alike.a.begin() + rest; item != alike.a.end(); ++item)
        left[loose_key(a_.regions[item->region], *item->node)].a.push_back(*item);
      for (auto item = alike.b.begin() + rest; item != alike.b.end(); ++item)
        left[loose_key(b_.regions[item->region], *item->node)].b.push_back(*item);
    }
    return left;
  }

  void stay(Alike& alike, bool other_line) {
    std::map<std::size_t, std::vector<std::size_t>> by_region;  // region of B -> indices, the first ones last
    for (std::size_t i = alike.b.size(); i-- > 0;) by_region[alike.b[i].region].push_back(i);
    std::vector<Item> left_a, left_b;
    std::vector<bool> taken(alike.b.size(), false);
    for (const auto& item : alike.a) {
      const auto there = by_region.find(to_b_[item.region]);
      if (there == by_region.end() || there->second.empty()) {
        left_a.push_back(item);
        continue;
      }
      taken[there->second.back()] = true;
      there->second.pop_back();
      ++out_.same;
      out_.other_line += other_line;
    }
    for (std::size_t i = 0; i < alike.b.size(); ++i) {
      if (!taken[i]) left_b.push_back(alike.b[i]);
    }
    alike = {std::move(left_a), std::move(left_b)};
  }

  void add(Change change, const Item& item, std::size_t from, std::size_t to) {
    auto& row = rows_[{change, item.node->target, place_text(item.node->place), shape_text(*item.node), from, to}];
    if (row.names.empty()) {
      row.change = change;
      row.target = item.node->target;
      row.place = item.node->place;
      row.shape = shape_text(*item.node);
      if (from != nowhere) row.from = region_name(a_.regions[from]);
      if (to != nowhere) row.to = region_name(b_.regions[to]);
    }
    row.names.push_back(item.node->name);
    ++(change == Change::moved ? out_.moved : change == Change::vanished ? out_.vanished : out_.appeared);
  }

  static std::size_t calls(const Region& region) {
    return static_cast<std::size_t>(std::count_if(region.nodes.begin(), region.nodes.end(), is_call));
  }

  void regions() {
    for (std::size_t i = 0; i < a_.regions.size(); ++i) {
      const auto& region = a_.regions[i];
      RegionChange row{region_name(region), "", region.place, calls(region), 0, region.ended, ""};
      if (to_b_[i] != nowhere) {
        const auto& other = b_.regions[to_b_[i]];
        row.in_b = region_name(other);
        row.nodes_b = calls(other);
        row.ended_b = other.ended;
      }
      out_.regions.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < b_.regions.size(); ++i) {
      const auto& region = b_.regions[i];
      if (to_a_[i] == nowhere)
        out_.regions.push_back({"", region_name(region), region.place, 0, calls(region), "", region.ended});
    }
  }

  void order() {
    for (auto& [key, row] : rows_) out_.changes.push_back(std::move(row));
    const auto rank = [](Change change) { return change == Change::moved ? 0 : change == Change::vanished ? 1 : 2; };
    std::stable_sort(out_.changes.begin(), out_.changes.end(), [&](const NodeChange& x, const NodeChange& y) {
      return rank(x.change) != rank(y.change) ? rank(x.change) < rank(y.change) : x.names.size() > y.names.size();
    });
  }

  const Snapshot &a_, &b_;
  std::vector<std::size_t> to_b_, to_a_;
  std::map<RowKey, NodeChange> rows_;
  SnapshotDiff out_;
};

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

SnapshotDiff diff(const Snapshot& a, const Snapshot& b) {
  return Comparer(a, b).make();
}

std::string_view to_string(Change change) {
  return change == Change::moved ? "moved" : change == Change::vanished ? "vanished" : "appeared";
}

Json to_json(const SnapshotDiff& diff) {
  auto regions = Json::array(), changes = Json::array();
  for (const auto& one : diff.regions)
    regions.push_back({{"a", text_or_null(one.in_a)},
                       {"b", text_or_null(one.in_b)},
                       {"place", to_json(one.place)},
                       {"nodes_a", one.nodes_a},
                       {"nodes_b", one.nodes_b},
                       {"ended_a", one.ended_a},
                       {"ended_b", one.ended_b}});
  for (const auto& one : diff.changes)
    changes.push_back({{"change", to_string(one.change)},
                       {"target", one.target},
                       {"place", to_json(one.place)},
                       {"shape", text_or_null(one.shape)},
                       {"from", text_or_null(one.from)},
                       {"to", text_or_null(one.to)},
                       {"nodes", one.names}});
  return {{"a", {{"file", diff.a}, {"cell_id", diff.cell_a}, {"mode", diff.mode_a}}},
          {"b", {{"file", diff.b}, {"cell_id", diff.cell_b}, {"mode", diff.mode_b}}},
          {"same", diff.same},
          {"other_line", diff.other_line},
          {"appeared", diff.appeared},
          {"vanished", diff.vanished},
          {"moved", diff.moved},
          {"regions", regions},
          {"changes", changes}};
}

}  // namespace stepgauge::graph
