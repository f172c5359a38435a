#pragma once
#include <functional>

#include "contract/record.hpp"
#include "stub_options.hpp"

namespace stepgauge::stub {

/// Called for each step with its index and time, in the order of the loop.
using OnStep = std::function<void(std::int64_t step, double ms, bool measured)>;

/// The rank's record, step by step; phases and memory follow from the options and the cell's `perturb`.
RankRecord make_record(const Options& options, const Cell& cell, int launch, int rank, const OnStep& on_step);

}  // namespace stepgauge::stub
