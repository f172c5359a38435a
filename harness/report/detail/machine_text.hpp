#pragma once
#include <string>

#include "contract/json_io.hpp"

namespace stepgauge::report::detail {

/// "NVIDIA H200 x 2 (141 GiB), nvlink (1 pair); AMD EPYC, 32 cores" of a fingerprint; not escaped.
std::string machine_text(const Json& fingerprint);

}  // namespace stepgauge::report::detail
