#pragma once
// Text of others (reasons, log lines, variables, ids) before it reaches a terminal or a Markdown file.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/style.hpp"

namespace stepgauge::report::detail {

/// Valid UTF-8 on one line: control characters (C0, DEL, C1), direction overrides and broken bytes become "?", line
/// ends and tabs a space.
std::string printable(std::string_view text);

/// printable(), and nothing that Markdown or HTML would act on: | < > & ` * _ [ ] \ are escaped.
std::string markdown(std::string_view text);

/// markdown(), and nothing that a code host would act on in a comment: no mention of a person, no reference to an
/// issue, no link. Never to be put at the beginning of a line, where "/merge" is an order to GitLab.
std::string comment(std::string_view text);

/// printable(), as text or as a quoted attribute of XML 1.0.
std::string xml(std::string_view text);

/// A command as a shell would read it: words apart by spaces, quoted where they have to be; printable.
std::string shell_words(const std::vector<std::string>& command);

/// A fence of backquotes that is longer than any run of them in the text, at least `least`.
std::string backquotes(std::string_view text, std::size_t least);

/// Columns on a terminal, one per code point.
std::size_t columns(std::string_view text);

/// At most `width` columns: the middle becomes "..", the last `keep` columns stay.
std::string shorten_middle(const std::string& text, std::size_t width, std::size_t keep);

/// Breaks at spaces; lines after the first start with `indent` spaces; words longer than a line are cut.
std::string wrap(const std::string& text, std::size_t width, std::size_t indent);

/// The same as lines of their own, as wide as the style is.
std::string paragraph(const std::string& text, const Style& style, std::size_t indent = 2);

}  // namespace stepgauge::report::detail
