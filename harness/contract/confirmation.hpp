#pragma once
// What a confirmation of an alarm came to: pairs of the last good and the first bad commit, side by side.
#include <optional>
#include <string_view>

namespace stepgauge {

enum class ConfirmationVerdict { confirmed, not_confirmed, unknown };

/// "confirmed", "not confirmed", "unknown".
std::string_view to_string(ConfirmationVerdict verdict);
std::optional<ConfirmationVerdict> confirmation_verdict_from_string(std::string_view text);

}  // namespace stepgauge
