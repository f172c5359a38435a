#include "report/mode_tables.hpp"

#include "report/detail/mode_sheets.hpp"

namespace stepgauge::report {

using detail::Detail;

std::string mode_tables(const ResultSet& results, const Style& style) {
  return detail::sheet_text(detail::start_sheet(results, Detail::brief), style) +
         detail::sheet_text(detail::compiler_sheet(results), style) +
         detail::sheet_text(detail::checkpointing_sheet(results), style) +
         detail::sheet_text(detail::precision_sheet(results, Detail::brief), style) +
         detail::sheet_text(detail::visibility_sheet(results, Detail::brief), style);
}

std::string mode_tables_markdown(const ResultSet& results) {
  auto modes = detail::start_sheet(results, Detail::full);
  modes.notes = detail::compiler_sheet(results).notes;
  return detail::sheet_markdown(modes) + detail::sheet_markdown(detail::checkpointing_sheet(results)) +
         detail::sheet_markdown(detail::precision_sheet(results, Detail::full)) +
         detail::sheet_markdown(detail::visibility_sheet(results, Detail::full));
}

}  // namespace stepgauge::report
