#pragma once
// What the article that the project was started from claims, beside what was measured.
#include <map>
#include <string>
#include <vector>

#include "contract/result_set.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// What a snapshot of compiled graphs (measure.graphs) holds, of one cell.
struct SnapshotCounts {
  std::size_t regions = 0, nodes = 0, calls = 0;
  std::size_t placed = 0;                 ///< calls that carry file and line
  std::size_t breaks = 0;                 ///< regions that ended at a graph break
  std::vector<std::string> first_breaks;  ///< "graph break: ... at twin.py:12 (forward)", a few
};
using SnapshotsByCell = std::map<std::string, SnapshotCounts>;  ///< cell id -> of its rank 0

/// "A1", "A2", "A3", "A4", "A6", "A8", "A9", "A11", "A13".
const std::vector<std::string>& article_rows();

/// "A1" for a suite "a01_compile_modes"; empty for suites that stand for no row.
std::string article_row_of_suite(const std::string& suite);

/// Claims, what was measured (cold and warm starts apart), and what makes the two differ. Throws std::invalid_argument
/// for a row that is not among article_rows(). `snapshots`: for A8, of the launches that left some.
std::string article_text(const ResultSet& results, const std::string& row, const SnapshotsByCell& snapshots = {},
                         const Style& style = {});
std::string article_markdown(const ResultSet& results, const std::string& row, const SnapshotsByCell& snapshots = {});

}  // namespace stepgauge::report
