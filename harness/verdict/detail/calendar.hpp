#pragma once

#include <optional>
#include <string>

namespace stepgauge::verdict::detail {

/// Days since 1970 of an ISO 8601 time in UTC; nullopt when it is none.
std::optional<int> day_of(const std::string& time);

/// The two times lie in different ISO weeks, which begin on Monday at 00:00 UTC. False when either is no time.
bool in_different_weeks(const std::string& before, const std::string& after);

}  // namespace stepgauge::verdict::detail
