#pragma once

#include <optional>
#include <vector>

#include "verdict/detail/trend_changes.hpp"

namespace stepgauge::verdict::detail {

/// The latest confirmation that holds for an alarm for the worse, which alone are measured: its nights have the change
/// between them, and unless it confirmed the alarm, the loss has not grown since by more than theta / 2. With the
/// number of all whose nights do. nullopt: none holds.
std::optional<TrendConfirmation> confirmation_of(const TrendAlarm& alarm,
                                                 const std::vector<TrendConfirmation>& confirmations,
                                                 const AlarmRule& rule);

}  // namespace stepgauge::verdict::detail
