#pragma once
#include <cstddef>

namespace stepgauge::report {

struct Style {
  bool color = false;       ///< ANSI colours
  std::size_t width = 100;  ///< columns; no table is wider
};

}  // namespace stepgauge::report
