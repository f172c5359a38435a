#include "report/detail/table.hpp"

#include <algorithm>
#include <numeric>

#include "report/detail/escape.hpp"

namespace stepgauge::report::detail {
namespace {

constexpr std::size_t hash_columns = 9;  ///< "-" and the hash at the end of a cell id

std::string padded(const std::string& text, std::size_t width, bool left) {
  const auto used = columns(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return left ? text + space : space + text;
}

}  // namespace

std::string colored(const std::string& text, Color color, const Style& style) {
  if (!style.color || color == Color::none) return text;
  const char* code = color == Color::green ? "32" : color == Color::yellow ? "33" : color == Color::red ? "31;1" : "2";
  return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

void Table::add(std::vector<std::string> texts, Color color) {
  lines_.push_back({std::move(texts), color, false});
}

void Table::add_line(std::string text) {
  for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
    lines_.push_back({{text.substr(0, end)}, Color::none, true});
  lines_.push_back({{std::move(text)}, Color::none, true});
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto width = columns(columns_[i].title);
    for (const auto& line : lines_) {
      if (!line.whole) width = std::max(width, columns(line.texts.at(i)));
    }
    out.push_back(width);
  }
  return out;
}

/// Two columns between columns, one where that is too wide.
std::size_t Table::gap(const Style& style, std::size_t indent) const {
  const auto all = widths();
  const auto sum = std::accumulate(all.begin(), all.end(), indent + 2 * (columns_.size() - 1));
  return sum <= style.width ? 2 : 1;
}

std::size_t Table::room(const Style& style) const {
  const auto all = widths();
  const auto others = std::accumulate(all.begin() + 1, all.end(), columns_.size() - 1);
  return style.width > others ? style.width - others : 0;
}

std::string Table::text(const Style& style, std::size_t indent) const {
  auto all = widths();
  const std::string space(gap(style, indent), ' ');
  const auto others = std::accumulate(all.begin() + 1, all.end(), indent + space.size() * (columns_.size() - 1));
  all[0] = std::min(all[0], std::max<std::size_t>(style.width > others ? style.width - others : 0, 12));
  std::string out;
  const auto add_row = [&](const std::vector<std::string>& texts, Color color) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool last = i + 1 == columns_.size();
      auto text = i == 0 ? shorten_middle(texts[0], all[0], hash_columns) : texts[i];
      if (!last || !columns_[i].left) text = padded(text, all[i], columns_[i].left);
      line += (i == 0 ? "" : space) + (last ? colored(text, color, style) : text);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  };
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  add_row(titles, Color::none);
  for (const auto& line : lines_) {
    if (line.whole) {
      out += shorten_middle(line.texts[0], style.width, hash_columns) + "\n";
    } else {
      add_row(line.texts, line.color);
    }
  }
  return out;
}

}  // namespace stepgauge::report::detail
