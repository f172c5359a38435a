#include "contract/confirmation.hpp"

namespace stepgauge {

std::string_view to_string(ConfirmationVerdict verdict) {
  switch (verdict) {
    case ConfirmationVerdict::confirmed:
      return "confirmed";
    case ConfirmationVerdict::not_confirmed:
      return "not confirmed";
    default:
      return "unknown";
  }
}

std::optional<ConfirmationVerdict> confirmation_verdict_from_string(std::string_view text) {
  for (const auto verdict :
       {ConfirmationVerdict::confirmed, ConfirmationVerdict::not_confirmed, ConfirmationVerdict::unknown}) {
    if (to_string(verdict) == text) return verdict;
  }
  return std::nullopt;
}

}  // namespace stepgauge
