#pragma once
// What other rooms need to show text and numbers as the tables do.
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"

namespace stepgauge::report {

using detail::four_digits;
using detail::printable;

}  // namespace stepgauge::report
