#include "report/selftest_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/detail/escape.hpp"
#include "report/detail/table.hpp"

namespace stepgauge::report {
namespace {

const char* text_of(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::as_expected:
      return "as expected";
    case CheckOutcome::wrong:
      return "WRONG";
    default:
      return "not measured";
  }
}

detail::Color color_of(CheckOutcome outcome) {
  return outcome == CheckOutcome::as_expected ? detail::Color::green
         : outcome == CheckOutcome::wrong     ? detail::Color::red
                                              : detail::Color::yellow;
}

double total_seconds(const Selftest& selftest) {
  double out = 0;
  for (const auto& check : selftest.checks) out += check.seconds;
  return out;
}

}  // namespace

ExitCode exit_code_of(const Selftest& selftest) {
  const auto any = [&](CheckOutcome outcome) {
    return std::any_of(selftest.checks.begin(), selftest.checks.end(),
                       [&](const SelftestCheck& check) { return check.outcome == outcome; });
  };
  if (any(CheckOutcome::wrong)) return ExitCode::regression;
  return selftest.checks.empty() || any(CheckOutcome::not_measured) ? ExitCode::measurement_failed
                                                                    : ExitCode::nothing_worse;
}

Json to_json(const Selftest& selftest) {
  Json checks = Json::array();
  for (const auto& check : selftest.checks) {
    const char* outcome = check.outcome == CheckOutcome::as_expected ? "as_expected"
                          : check.outcome == CheckOutcome::wrong     ? "wrong"
                                                                     : "not_measured";
    checks.push_back({{"name", check.name},
                      {"command", check.command},
                      {"expected", check.expected},
                      {"found", check.found},
                      {"outcome", outcome},
                      {"reason", check.reason},
                      {"seconds", check.seconds}});
  }
  return {{"schema", "stepgauge.selftest"},
          {"version", 1},
          {"suite", selftest.suite},
          {"folder", selftest.folder},
          {"planted", {{"cell", selftest.planted_cell}, {"step_percent", selftest.planted_percent}}},
          {"checks", std::move(checks)},
          {"seconds", total_seconds(selftest)},
          {"exit_code", static_cast<int>(exit_code_of(selftest))}};
}

std::string selftest_table(const Selftest& selftest, const Style& style) {
  const auto wrapped = [&](const std::string& text, std::size_t indent) {
    return detail::wrap(text, style.width, indent) + "\n";
  };
  auto out = wrapped(
      fmt::format("selftest with suite {}: planted are steps {:.4g} % longer in {}", detail::printable(selftest.suite),
                  selftest.planted_percent, detail::printable(selftest.planted_cell)),
      2);
  detail::Table table({{"check", true}, {"expected"}, {"found"}, {"seconds"}, {"", true}});
  for (const auto& check : selftest.checks) {
    table.add({check.name, fmt::format("{}", fmt::join(check.expected, " or ")),
               check.found < 0 ? "-" : fmt::format("{}", check.found), fmt::format("{:.1f}", check.seconds),
               text_of(check.outcome)},
              color_of(check.outcome));
    if (!check.reason.empty()) table.add_line(detail::wrap("    " + detail::printable(check.reason), style.width, 4));
  }
  out += "\n" + table.text(style);
  const auto code = exit_code_of(selftest);
  const auto* verdict = code == ExitCode::nothing_worse ? "every check is as expected"
                        : code == ExitCode::regression  ? "a check is WRONG: no verdict of this machine can be believed"
                                                        : "not every check could be measured here";
  return out +
         fmt::format("\n{} (exit code {}), {:.0f} s in all\n", verdict, static_cast<int>(code),
                     total_seconds(selftest)) +
         wrapped("what each command printed: " + detail::printable(selftest.folder), 2);
}

}  // namespace stepgauge::report
