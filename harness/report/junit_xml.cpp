#include <fmt/format.h>

#include <algorithm>

#include "report/change_report.hpp"
#include "report/detail/escape.hpp"

namespace stepgauge::report {
namespace {

using detail::xml;
using verdict::Verdict;

struct Tally {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;

  void add(const Tally& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
  }
  std::string text() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures, errors, skipped);
  }
};

std::string numbers_text(const ChangeRow& row) {
  return fmt::format("{} (95 % interval {}), base {}, head {}, tolerance {}, {}, MDE {}", row.change, row.interval,
                     row.base, row.head, row.tolerance, row.launches, row.mde);
}

std::string message_of(const ChangeRow& row) {
  const auto word = fmt::format("{}{}{}", to_string(row.verdict), row.advisory ? " (advisory)" : "",
                                row.gateable ? "" : " (not gateable)");
  return word + ": " + (row.reason.empty() ? numbers_text(row) : row.reason);
}

/// "failure", "error", "skipped", or nullptr for a case that passed.
const char* outcome_of(const ChangeRow& row) {
  const bool passed = row.verdict == Verdict::pass || row.verdict == Verdict::improved;
  if (passed) return row.gateable ? nullptr : "skipped";
  if (row.advisory || row.verdict == Verdict::inconclusive) return "skipped";
  return row.verdict == Verdict::regressed ? "failure" : "error";
}

/// One test case; `outcome` as outcome_of() says it.
std::string case_text(const std::string& cell, const std::string& name, double seconds, const char* outcome,
                      const std::string& message, const std::string& details, Tally& tally) {
  ++tally.tests;
  const auto begin =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", xml(cell), xml(name), seconds);
  if (outcome == nullptr) return begin + "/>\n";
  const std::string_view word(outcome);
  ++(word == "failure" ? tally.failures : word == "error" ? tally.errors : tally.skipped);
  return begin +
         fmt::format(">\n      <{0} message=\"{1}\">{2}</{0}>\n    </testcase>\n", word, xml(message), xml(details));
}

std::string suite_text(const std::string& name, double seconds, const Tally& tally, const std::string& cases) {
  return fmt::format("  <testsuite name=\"{}\" {} time=\"{:.3f}\">\n{}  </testsuite>\n", xml(name), tally.text(),
                     seconds, cases);
}

/// What no row says: why there is no verdict at all.
std::string whole_case(const ChangeReport& report, Tally& tally) {
  std::string message;
  if (report.interrupted) {
    message = "interrupted: " + report.stopped;
  } else if (!report.refusal.empty()) {
    message = "not comparable: " + report.refusal;
  } else if (report.counts.compared == 0) {
    message = "nothing was compared";
  }
  if (message.empty()) return "";
  Tally own;
  const auto text = case_text(report.suite, "verdict", 0, "error", message, "", own);
  tally.add(own);
  return suite_text(report.suite, 0, own, text);
}

std::string cell_text(const ChangeReport& report, std::size_t begin, std::size_t end, double seconds, Tally& tally) {
  Tally own;
  std::string cases;
  const auto& cell = report.rows[begin].cell;
  for (std::size_t i = begin; i < end; ++i) {
    const auto& row = report.rows[i];
    cases += case_text(cell, row.metric, seconds / static_cast<double>(end - begin), outcome_of(row), message_of(row),
                       numbers_text(row), own);
  }
  tally.add(own);
  return suite_text(cell, seconds, own, cases);
}

}  // namespace

std::string junit_xml(const ChangeReport& report, const std::map<std::string, double>& cell_seconds) {
  Tally tally;
  auto suites = whole_case(report, tally);
  double seconds = 0;
  for (std::size_t begin = 0; begin < report.rows.size();) {
    auto end = begin;
    while (end < report.rows.size() && report.rows[end].cell == report.rows[begin].cell) ++end;
    const auto known = cell_seconds.find(report.rows[begin].cell);
    const double own = known == cell_seconds.end() ? 0 : known->second;
    suites += cell_text(report, begin, end, own, tally);
    seconds += own;
    begin = end;
  }
  for (const auto& cell : report.skipped) {
    Tally own;
    const auto text = case_text(cell.id, "cell", 0, "skipped", cell.reason, "", own);
    tally.add(own);
    suites += suite_text(cell.id, 0, own, text);
  }
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stepgauge {} {}\" {} time=\"{:.3f}\">\n",
             report.gate ? "gate" : "comparison", xml(report.suite), tally.text(), seconds) +
         suites + "</testsuites>\n";
}

}  // namespace stepgauge::report
