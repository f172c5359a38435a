#pragma once
#include <cstddef>
#include <string>

#include "graph/diff.hpp"
#include "graph/view.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// A line a region: nodes, place, why it ended; the targets that are called most; the nodes that were asked for.
std::string graph_table(const graph::View& view, const Style& style = {});

/// Regions of both sides, then the first `top` rows of nodes that moved, vanished or appeared.
std::string graph_diff_table(const graph::SnapshotDiff& diff, std::size_t top, const Style& style = {});

}  // namespace stepgauge::report
