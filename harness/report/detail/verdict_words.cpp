#include "report/detail/verdict_words.hpp"

#include "report/detail/number.hpp"

namespace stepgauge::report::detail {

Color color_of(verdict::Verdict verdict) {
  using Verdict = verdict::Verdict;
  switch (verdict) {
    case Verdict::pass:
    case Verdict::improved:
      return Color::green;
    case Verdict::inconclusive:
      return Color::yellow;
    default:
      return Color::red;
  }
}

Headline headline(ExitCode code) {
  switch (code) {
    case ExitCode::nothing_worse:
      return {"nothing worse", Color::green};
    case ExitCode::regression:
      return {"REGRESSED", Color::red};
    case ExitCode::measurement_failed:
      return {"INVALID: measurements failed", Color::red};
    case ExitCode::inconclusive:
      return {"INCONCLUSIVE", Color::yellow};
    default:
      return {"NOT COMPARABLE", Color::red};
  }
}

std::string change_text(Scale scale, std::optional<double> change, bool with_sign) {
  if (change && scale == Scale::points) *change /= 100;
  return with_sign ? signed_percent(change) : percent(change);
}

}  // namespace stepgauge::report::detail
