#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge {

/// The known name nearest to `text` by edit distance (case folded), or "" when none is near (more than a
/// third of its length away).
std::string nearest_name(std::string_view text, std::span<const std::string> known);

/// `; did you mean "x"?` or, where nothing is near, `; known: a, b, c` (at most 12 names), ready to append to
/// an error.
std::string suggestion(std::string_view text, std::span<const std::string> known);

}  // namespace stepgauge
