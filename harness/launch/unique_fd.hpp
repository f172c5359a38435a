#pragma once
#include "machine/unique_fd.hpp"

namespace stepgauge::launch {

using machine::UniqueFd;

}  // namespace stepgauge::launch
