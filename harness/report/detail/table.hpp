#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/style.hpp"

namespace stepgauge::report::detail {

enum class Color { none, green, yellow, red, dim };

std::string colored(const std::string& text, Color color, const Style& style);

struct Column {
  std::string title;
  bool left = false;  ///< text; numbers stand right
};

/// Rows under titles. The first column is shortened in its middle when the table is wider than the style allows.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// `texts` are printable; the colour is that of the last column.
  void add(std::vector<std::string> texts, Color color = Color::none);

  /// A line of its own over the whole width; several, where the text was wrapped.
  void add_line(std::string text);

  /// Columns that are left for the first one.
  std::size_t room(const Style& style) const;
  std::string text(const Style& style, std::size_t indent = 0) const;

 private:
  struct Line {
    std::vector<std::string> texts;
    Color color = Color::none;
    bool whole = false;
  };
  std::vector<std::size_t> widths() const;
  std::size_t gap(const Style& style, std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<Line> lines_;
};

}  // namespace stepgauge::report::detail
