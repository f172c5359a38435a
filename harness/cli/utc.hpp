#pragma once
#include <string>

namespace stepgauge::cli {

/// Now in UTC, by a strftime format; ISO 8601 by default.
std::string utc_now(const char* format = "%Y-%m-%dT%H:%M:%SZ");

}  // namespace stepgauge::cli
