#include "contract/plural.hpp"

#include <fmt/format.h>

namespace stepgauge {

std::string plural(double count, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace stepgauge
