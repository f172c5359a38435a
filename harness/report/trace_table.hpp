#pragma once
#include <cstddef>
#include <string>

#include "report/style.hpp"
#include "trace/diff.hpp"
#include "trace/show.hpp"

namespace stepgauge::report {

/// A line a rank with the shares of its steps; of the first rank of the view, work and idle time in detail; the slowest
/// collective; what is withheld and why; notes.
std::string trace_table(const trace::TraceView& view, const Style& style = {});

/// Both breakdowns side by side, then the first `top` rows of what changed with their cost per step.
std::string trace_diff_table(const trace::TraceDiff& diff, std::size_t top, const Style& style = {});

}  // namespace stepgauge::report
