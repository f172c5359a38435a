#include "config/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "config/reader.hpp"

namespace stepgauge::config {
namespace {

/// Size of the product and the includes; refused before anything of it is made.
std::size_t count_cells(const Matrix& matrix) {
  std::size_t product = 1;
  for (const auto& dimension : matrix.dimensions) {
    if (product > max_cells / dimension.steps.size())
      fail(matrix.mark, fmt::format("the matrix has more than {} cells", max_cells));
    product *= dimension.steps.size();
  }
  if (matrix.dimensions.empty() && !matrix.includes.empty()) product = 0;
  if (product + matrix.includes.size() > max_cells)
    fail(matrix.mark, fmt::format("the matrix has more than {} cells", max_cells));
  return product;
}

std::vector<CellDraft> make_drafts(const Matrix& matrix) {
  const auto product = count_cells(matrix);
  std::vector<CellDraft> drafts;
  drafts.reserve(product + matrix.includes.size());
  for (std::size_t index = 0; index < product; ++index) {
    auto& draft = drafts.emplace_back(matrix.defaults);
    auto rest = index;
    for (auto dimension = matrix.dimensions.rbegin(); dimension != matrix.dimensions.rend(); ++dimension) {
      for (const auto* value : dimension->steps[rest % dimension->steps.size()]) draft.set(value);
      rest /= dimension->steps.size();
    }
    if (draft.at(Axis::workload) == nullptr)
      fail(matrix.mark, "the matrix is empty: no \"workload\" under axes, zip, include or defaults");
  }
  for (const auto& include : matrix.includes) drafts.push_back(include.draft);
  return drafts;
}

class Expander {
 public:
  explicit Expander(Matrix& matrix) : matrix_(matrix), drafts_(make_drafts(matrix)) {}

  Expansion run() {
    fill();
    exclude();
    override_cells();
    finish();
    return std::move(expansion_);
  }

 private:
  void fill() {
    Cell blank;
    blank.suite = matrix_.suite;
    matrix_.policy.apply(blank);
    cells_.assign(drafts_.size(), blank);
    for (std::size_t i = 0; i < drafts_.size(); ++i) fill_cell(drafts_[i], cells_[i]);
  }

  void exclude() {
    if (matrix_.excludes.empty()) return;
    std::vector<const Pattern*> dropped_by(cells_.size(), nullptr);
    for (const auto& pattern : matrix_.excludes) {
      bool matched = false;
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (!pattern.matches(cells_[i])) continue;
        matched = true;
        if (dropped_by[i] == nullptr) dropped_by[i] = &pattern;
      }
      if (!matched) pattern.fail_unmatched(cells_);
    }
    std::size_t kept = 0;
    std::unordered_set<std::string> told;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (dropped_by[i] != nullptr) {
        assign_identity(cells_[i]);
        if (!told.insert(cells_[i].id).second) continue;
        expansion_.excluded.push_back({cells_[i].id, cells_[i].hash, Status::skipped,
                                       fmt::format("excluded at {}", place(dropped_by[i]->mark()))});
        continue;
      }
      if (kept != i) {
        cells_[kept] = std::move(cells_[i]);
        drafts_[kept] = drafts_[i];
      }
      ++kept;
    }
    if (kept == 0)
      fail(matrix_.excludes.front().mark(),
           fmt::format("the matrix is empty: all {} cells are excluded", cells_.size()));
    cells_.resize(kept);
    drafts_.resize(kept);
  }

  void override_cells() {
    for (const auto& item : matrix_.overrides) {
      bool matched = false;
      std::map<Axis, bool> shape_used;
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (!item.match.matches(cells_[i])) continue;
        matched = true;
        for (const auto* value : item.set) drafts_[i].set(overriding(value, drafts_[i].at(value->axis)));
        if (!item.set.empty()) fill_cell(drafts_[i], cells_[i]);
        item.policy.apply(cells_[i]);
        for (const auto axis : {Axis::image, Axis::sequence}) shape_used[axis] |= uses_shape(drafts_[i], axis);
      }
      if (!matched) item.match.fail_unmatched(cells_);
      for (const auto* value : item.set) {
        const auto axis = value->axis;
        if ((axis == Axis::image || axis == Axis::sequence) && !shape_used[axis])
          fail(value->mark, fmt::format("{}: no matching cell's workload has this size", axis_name(axis)));
      }
    }
  }

  /// ddp, env and optimizer keep what the override does not name; made once per pair.
  const AxisValue* overriding(const AxisValue* value, const AxisValue* base) {
    if (base == nullptr) return value;
    auto& made = overriding_[{value, base}];
    if (made == nullptr) {
      matrix_.values.push_back(completed(*value, base));
      made = &matrix_.values.back();
    }
    return made;
  }

  void check_shapes() const {
    for (const auto& shape : matrix_.shapes) {
      if (std::none_of(drafts_.begin(), drafts_.end(),
                       [&](const auto& draft) { return uses_shape(draft, shape.axis); }))
        fail(shape.mark, fmt::format("{}: no cell's workload has this size", axis_name(shape.axis)));
    }
  }

  void finish() {
    check_shapes();
    std::unordered_map<std::string_view, std::size_t> index;
    index.reserve(cells_.size());
    expansion_.cells.reserve(cells_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      check_cell(drafts_[i], cells_[i]);
      // A cuda cell needs a device per rank, unless ranks share them; a suite may ask for less where its ranks span
      // machines.
      auto& cell = cells_[i];
      if (cell.device == "cuda" && cell.needs.gpus == 0) cell.needs.gpus = cell.ddp.oversubscribe ? 1 : cell.ddp.ranks;
      assign_identity(cell);
      const auto found = index.find(cell.id);
      if (found != index.end() && identity_json(expansion_.cells[found->second]) == identity_json(cell)) {
        ++expansion_.merged;
        continue;
      }
      if (found != index.end())
        fail(matrix_.mark, fmt::format("two different cells have the id {}; change the seed of one", cell.id));
      expansion_.cells.push_back(std::move(cell));
      expansion_.places.push_back(i);
      index.emplace(expansion_.cells.back().id, expansion_.cells.size() - 1);
    }
  }

  Matrix& matrix_;
  std::vector<CellDraft> drafts_;
  std::vector<Cell> cells_;
  Expansion expansion_;
  std::map<std::pair<const AxisValue*, const AxisValue*>, const AxisValue*> overriding_;
};

}  // namespace

Expansion expand(Matrix& matrix) {
  return Expander(matrix).run();
}

}  // namespace stepgauge::config
