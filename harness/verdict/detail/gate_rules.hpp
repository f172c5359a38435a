#pragma once
// The rules of the gate on rows that have numbers.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "verdict/detail/gate_looks.hpp"
#include "verdict/detail/gate_sample.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict::detail {

/// A row with numbers in both arms that waits for its verdict.
struct GateWork {
  std::size_t row = 0;  ///< index into the rows
  const GateCell* cell = nullptr;
  GateSample screen;
  std::optional<GateSample> confirm;  ///< of the new pairs, once they decide
  GateProgress progress{};            ///< of a row under suspicion
};

void settle(GateRow& row, Verdict verdict, std::string reason = "");

/// What the screen makes of a sample; never a verdict.
Suspicion suspicion_of(const GateSample& screen, const GatePolicy& policy);

/// Gives every row of `work` its suspicion, once its cell is screened; returns how many there are.
GateFamily suspect_rows(std::vector<GateRow>& rows, const std::vector<GateWork>& work, const GatePolicy& policy);

/// Gives every row of `work` its numbers and verdict.
void judge_rows(std::vector<GateRow>& rows, std::vector<GateWork>& work, const GateFamily& family,
                const GatePolicy& policy);

}  // namespace stepgauge::verdict::detail
