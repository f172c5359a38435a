#include "report/bisect_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "contract/short_commit.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/table.hpp"
#include "report/detail/verdict_words.hpp"

namespace stepgauge::report {
namespace {

using detail::Color;
using detail::paragraph;
using detail::printable;
using verdict::Bisect;
using verdict::BisectAnswer;
using verdict::BisectOutcome;
using verdict::BisectStep;

constexpr std::size_t subject_columns = 46;

Color color_of(BisectAnswer answer) {
  switch (answer) {
    case BisectAnswer::same:
      return Color::green;
    case BisectAnswer::different:
      return Color::red;
    default:
      return Color::yellow;
  }
}

std::string subject_of(const Bisect& bisect, const BisectStep& step) {
  const auto text = bisect.over_commits ? short_commit(step.subject) + " " + step.title : step.subject;
  return detail::shorten_middle(printable(text), subject_columns, 12);
}

std::string steps_text(const Bisect& bisect, const Style& style) {
  if (bisect.steps.empty()) return "";
  detail::Table table({{bisect.over_commits ? "commit" : "as in the bad end", true},
                       {"pairs"},
                       {"change %"},
                       {"95 % interval"},
                       {"against good", true}});
  for (const auto& step : bisect.steps) {
    const auto& test = step.test;
    const auto interval = test.ci_lower && test.ci_upper
                              ? fmt::format("{}..{}", detail::change_text(bisect.scale(), test.ci_lower, true),
                                            detail::change_text(bisect.scale(), test.ci_upper, true))
                              : "-";
    table.add({subject_of(bisect, step), std::to_string(test.pairs),
               detail::change_text(bisect.scale(), test.change, true), interval, std::string(to_string(test.answer))},
              color_of(test.answer));
    if (!test.reason.empty()) table.add_line(detail::wrap("      " + printable(test.reason), style.width, 6));
  }
  return "\n" + table.text(style);
}

Color color_of(BisectOutcome outcome) {
  switch (outcome) {
    case BisectOutcome::found:
      return Color::green;
    case BisectOutcome::not_measurable:
    case BisectOutcome::interrupted:
      return Color::red;
    default:
      return Color::yellow;
  }
}

}  // namespace

std::string bisect_table(const Bisect& bisect, const Style& style) {
  auto out = paragraph(fmt::format("bisect of suite {}: {} of {} over {}, good {}, bad {}", printable(bisect.suite),
                                   bisect.metric, printable(bisect.cell), bisect.over_commits ? "commits" : "settings",
                                   printable(fmt::format("{}", fmt::join(bisect.good, " + "))),
                                   printable(fmt::format("{}", fmt::join(bisect.bad, " + ")))),
                       style);
  auto outcome = std::string(to_string(bisect.outcome));
  for (auto& c : outcome) c = c == '_' ? ' ' : c;
  out += fmt::format("outcome: {} (exit code {})\n", detail::colored(outcome, color_of(bisect.outcome), style),
                     static_cast<int>(bisect.exit_code()));
  out += paragraph(printable(bisect.sentence()), style);
  if (bisect.outcome == BisectOutcome::range) {
    out += "may be:\n";
    for (const auto& suspect : bisect.suspects) out += paragraph("  " + printable(suspect), style, 4);
  }
  out += paragraph(fmt::format("seed {}; {} pairs at each midpoint, up to {} while unknown", bisect.policy.seed,
                               bisect.policy.first_pairs, bisect.policy.most_pairs),
                   style);
  out += steps_text(bisect, style);
  return out + "\n" +
         paragraph(fmt::format("launches: {0}/tests, answers: {0}/bisect.json", printable(bisect.folder)), style);
}

}  // namespace stepgauge::report
