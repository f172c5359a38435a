#pragma once
#include <cstddef>
#include <string>

#include "replay/view.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// A line a rank (those of patterns first where they are many), the first `top` patterns a line each, the slowest
/// collectives, what could not be read, notes.
std::string replay_table(const replay::ReplayView& view, std::size_t top, const Style& style = {});

/// Collectives that were made again (`replay` of a rank record): by kind and size, how often, the logs' time and the
/// time here, ms in sum, and their ratio; the `top` that took longest here. Then the sums over those that have both.
std::string replayed_table(const Json& replay, std::size_t top, const Style& style = {});

}  // namespace stepgauge::report
