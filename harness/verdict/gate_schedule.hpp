#pragma once
// Who goes first within a pair. Pure: the same seed gives the same order on every machine.
#include <cstddef>
#include <cstdint>

namespace stepgauge::verdict {

/// The order within the pairs of a cell alternates from a first order drawn by the seed, each cell its own (design 3.3:
/// a fixed ABABAB is biased by drift). `cell` is the cell's number, `pair` counts from 0 over screen and confirmation.
bool head_goes_first(std::uint64_t seed, std::size_t cell, std::size_t pair);

}  // namespace stepgauge::verdict
