#include "report/article.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "contract/suggest.hpp"
#include "report/detail/article_sheets.hpp"
#include "report/detail/escape.hpp"

namespace stepgauge::report {
namespace {

std::vector<detail::Sheet> sheets_of(const ResultSet& results, const std::string& row,
                                     const SnapshotsByCell& snapshots) {
  if (row == "A1") return detail::start_up_sheets(results);
  if (row == "A2") return detail::representation_sheets(results);
  if (row == "A4") return detail::recomputation_sheets(results);
  if (row == "A6") return detail::located_sheets(results);
  if (row == "A8") return detail::snapshot_sheets(results, snapshots);
  if (row == "A3") return detail::topology_sheets(results);
  if (row == "A9") return detail::log_sheets(results);
  if (row == "A11") return detail::overlap_sheets(results);
  if (row == "A13") return detail::compression_sheets(results);
  throw std::invalid_argument(fmt::format("the article has no row \"{}\" that is measured{}; there are {}", row,
                                          suggestion(row, article_rows()), fmt::join(article_rows(), ", ")));
}

std::string title_of(const std::string& row) {
  static const std::map<std::string, std::string> titles{
      {"A1", "the compile mode decides what starting costs"},
      {"A2", "the intermediate representation grows between compilers"},
      {"A3", "a topology that NCCL does not expect leaves the GPU idle"},
      {"A4", "checkpointing launches kernels again, static_graph avoids it"},
      {"A6", "profilers go blind when compilation and DDP are combined"},
      {"A8", "where a graph is cut, with source positions"},
      {"A9", "a distributed run is explained from its collective log"},
      {"A11", "asynchronous collectives overlap communication with compute"},
      {"A13", "compressed gradients need less memory and time"}};
  return fmt::format("Article {}: {}", row, titles.at(row));
}

}  // namespace

const std::vector<std::string>& article_rows() {
  static const std::vector<std::string> rows{"A1", "A2", "A3", "A4", "A6", "A8", "A9", "A11", "A13"};
  return rows;
}

std::string article_row_of_suite(const std::string& suite) {
  const auto digit = [&](std::size_t at) { return std::isdigit(static_cast<unsigned char>(suite[at])) != 0; };
  if (suite.size() < 4 || suite[0] != 'a' || !digit(1) || !digit(2) || suite[3] != '_') return "";
  const auto row = "A" + (suite[1] == '0' ? suite.substr(2, 1) : suite.substr(1, 2));
  const auto& rows = article_rows();
  return std::find(rows.begin(), rows.end(), row) == rows.end() ? "" : row;
}

std::string article_text(const ResultSet& results, const std::string& row, const SnapshotsByCell& snapshots,
                         const Style& style) {
  std::string tables;
  for (const auto& sheet : sheets_of(results, row, snapshots)) tables += detail::sheet_text(sheet, style);
  return detail::paragraph(title_of(row), style) + tables;
}

std::string article_markdown(const ResultSet& results, const std::string& row, const SnapshotsByCell& snapshots) {
  std::string tables;
  for (const auto& sheet : sheets_of(results, row, snapshots)) tables += detail::sheet_markdown(sheet, 3);
  return fmt::format("## {}\n{}", detail::markdown(title_of(row)), tables);
}

}  // namespace stepgauge::report
