#include "report/detail/sheet.hpp"

#include <fmt/format.h>

#include "report/detail/escape.hpp"

namespace stepgauge::report::detail {
namespace {

std::string markdown_row(const std::vector<std::string>& texts) {
  std::string out = "|";
  for (const auto& text : texts) out += " " + markdown(text) + " |";
  return out + "\n";
}

std::string markdown_table(const Sheet& sheet, const SheetGroup& group) {
  std::vector<std::string> titles;
  std::string rule = "|";
  for (const auto& column : sheet.columns) {
    titles.push_back(column.title);
    rule += column.left ? "---|" : "---:|";
  }
  auto out = markdown_row(titles) + rule + "\n";
  for (const auto& row : group.rows) out += markdown_row(row.texts);
  return out;
}

}  // namespace

std::string sheet_text(const Sheet& sheet, const Style& style) {
  if (sheet.empty()) return "";
  Table table(sheet.columns);
  for (const auto& group : sheet.groups) {
    if (!group.title.empty()) table.add_line(group.title + ":");
    for (const auto& row : group.rows) {
      auto texts = row.texts;
      if (!group.title.empty()) texts.front() = "  " + texts.front();
      table.add(std::move(texts), row.color);
    }
  }
  auto out = "\n" + paragraph(sheet.title, style) + table.text(style);
  for (const auto& note : sheet.notes) out += paragraph(note, style);
  return out;
}

std::string sheet_markdown(const Sheet& sheet, int level) {
  if (sheet.empty()) return "";
  auto out = fmt::format("\n{} {}\n", std::string(static_cast<std::size_t>(level), '#'), markdown(sheet.title));
  for (const auto& group : sheet.groups) {
    if (!group.title.empty()) out += fmt::format("\n{}\n", markdown(group.title));
    out += "\n" + markdown_table(sheet, group);
  }
  if (!sheet.notes.empty()) out += "\n";
  for (const auto& note : sheet.notes) out += fmt::format("- {}\n", markdown(note));
  return out;
}

}  // namespace stepgauge::report::detail
