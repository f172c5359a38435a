#pragma once
// Text of others (reasons, log lines, variables, ids) before it reaches a terminal or a Markdown file.
#include <cstddef>
#include <string>
#include <string_view>

namespace stepgauge::report::detail {

/// Valid UTF-8 on one line: control characters (C0, DEL, C1), direction overrides and broken bytes become "?", line
/// ends and tabs a space.
std::string printable(std::string_view text);

/// printable(), and nothing that Markdown or HTML would act on: | < > & ` * _ [ ] \ are escaped.
std::string markdown(std::string_view text);

/// Columns on a terminal, one per code point.
std::size_t columns(std::string_view text);

/// At most `width` columns: the middle becomes "..", the last `keep` columns stay.
std::string shorten_middle(const std::string& text, std::size_t width, std::size_t keep);

/// Breaks at spaces; lines after the first start with `indent` spaces; words longer than a line are cut.
std::string wrap(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace stepgauge::report::detail
