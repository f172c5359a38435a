#include "verdict/detail/matching.hpp"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace stepgauge::verdict::detail {
namespace {

using Index = std::unordered_multimap<std::string, const CellResults*>;

/// The hash has 32 bits: the id settles two cells of one hash, the whole identity a cell whose id is spelt in another
/// way.
const CellResults* find_same(const Index& index, const Cell& cell) {
  const auto [begin, end] = index.equal_range(cell.hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second->cell.id == cell.id) return it->second;
  }
  for (auto it = begin; it != end; ++it) {
    if (identity_json(it->second->cell) == identity_json(cell)) return it->second;
  }
  return nullptr;
}

}  // namespace

Matching match_cells(const ResultSet& base, const ResultSet& head, bool match_perturbed,
                     const std::function<bool(const Cell&)>& selected) {
  const auto wanted = [&](const CellResults& cell) { return !selected || selected(cell.cell); };
  Matching out;
  Index index;
  for (const auto& cell : base.cells) index.emplace(cell.cell.hash, &cell);
  std::unordered_set<const CellResults*> used;
  for (const auto& cell : head.cells) {
    if (!wanted(cell)) continue;
    const auto* same = find_same(index, cell.cell);
    if (same == nullptr && match_perturbed && is_perturbed(cell.cell)) {
      Cell plain = cell.cell;
      plain.perturb = {};
      assign_identity(plain);
      same = find_same(index, plain);
    }
    if (same == nullptr) {
      out.only_in_head.push_back(&cell);
      continue;
    }
    used.insert(same);
    out.pairs.push_back({same, &cell});
  }
  for (const auto& cell : base.cells) {
    if (used.count(&cell) != 0) continue;
    if (wanted(cell)) {
      out.only_in_base.push_back(&cell);
    } else {
      ++out.excluded;
    }
  }
  return out;
}

}  // namespace stepgauge::verdict::detail
