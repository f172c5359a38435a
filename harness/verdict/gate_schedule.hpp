#pragma once
// Which pair comes next, and who goes first within it. Pure: the same launches and seed give the same order anywhere.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verdict/gate.hpp"

namespace stepgauge::verdict {

/// The order within the pairs of a cell alternates from a first order drawn by the seed, each cell its own (design 3.3:
/// a fixed ABABAB is biased by drift). `cell` is the cell's number, `pair` counts from 0 over screen and confirmation.
bool head_goes_first(std::uint64_t seed, std::size_t cell, std::size_t pair);

/// Screening pairs of the cell that are to be made, or made again; none of a cell that one arm lacks.
std::size_t open_screen_pairs(const GateCell& cell, const GatePolicy& policy);

struct GateStep {
  GateStage stage = GateStage::screen;
  std::size_t cell = 0;
  int pair = 0;
};

/// Walks a gate: the pairs of the screen go round over the cells, so that a drift of the machine does not fall on one
/// of them alone; then new pairs of those under suspicion, each until its looks say that they suffice. A pair that was
/// spoilt comes again; a cell with a pair that was given up is left alone. Reads the tries as they grow and decides
/// nothing by how they came about: a gate that was interrupted goes on as if it had not been.
class GateSchedule {
 public:
  /// Keeps a reference to the cells.
  GateSchedule(const std::vector<GateCell>& cells, GatePolicy policy);

  /// The pair to be made now; nullopt when none is left.
  std::optional<GateStep> next();

  /// What is to be confirmed; empty before the screen is over.
  const GateConfirmation& confirmation() const { return confirmation_; }
  /// New pairs of a cell up to the look after `made` of them; 0 after the last.
  std::size_t pairs_to_next_look(std::size_t made) const;

 private:
  std::optional<GateStep> next_of(const std::vector<std::size_t>& cells, int from, int to);
  bool to_be_made(std::size_t index, int pair);
  bool ended(std::size_t index, std::size_t made);

  const std::vector<GateCell>& cells_;
  const GatePolicy policy_;
  std::vector<std::size_t> all_;
  GateStage stage_ = GateStage::screen;
  GateConfirmation confirmation_;
  int pair_ = 0;
  std::size_t place_ = 0;  ///< among the cells of the stage
  struct Look {
    std::size_t pairs = 0;
    bool ended = false;
  };
  std::vector<Look> looked_;  ///< by cell: the last look
};

}  // namespace stepgauge::verdict
