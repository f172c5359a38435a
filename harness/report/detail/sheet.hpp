#pragma once
// A table with groups, said once and shown on a terminal or as Markdown.
#include <string>
#include <vector>

#include "report/detail/table.hpp"
#include "report/style.hpp"

namespace stepgauge::report::detail {

struct SheetRow {
  std::vector<std::string> texts;  ///< printable, one a column
  Color color = Color::none;       ///< of the last column
};

/// Rows under one line that says what they share.
struct SheetGroup {
  std::string title;  ///< printable; empty: no line
  std::vector<SheetRow> rows;
};

struct Sheet {
  std::string title;
  std::vector<Column> columns;
  std::vector<SheetGroup> groups;
  std::vector<std::string> notes;  ///< below, one paragraph each

  bool empty() const { return groups.empty(); }
};

/// Text with an empty line before it; empty for an empty sheet.
std::string sheet_text(const Sheet& sheet, const Style& style);

/// A heading of that level, one table a group, and the notes as a list; empty for an empty sheet.
std::string sheet_markdown(const Sheet& sheet, int level = 2);

}  // namespace stepgauge::report::detail
