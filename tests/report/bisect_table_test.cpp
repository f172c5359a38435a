// What a person reads of a bisection: the outcome in a sentence first, then every answer.
#include "report/bisect_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace stepgauge::report {
namespace {

using namespace verdict;

TEST(BisectTable, OutcomeFirstAndWithinTheWidth) {
  Bisect bisect;
  bisect.suite = "s";
  bisect.cell = "llama.tiny/" + std::string(150, 'x');
  bisect.metric = "throughput";
  bisect.over_commits = true;
  bisect.good = {"v1"};
  bisect.bad = {"HEAD"};
  bisect.folder = "runs/b";
  bisect.policy.seed = 42;
  for (int i = 0; i < 4; ++i)
    bisect.commits.push_back({std::string(40, static_cast<char>('a' + i)), "title \x1b[31m" + std::string(90, 't')});
  const auto add = [&](std::size_t index, BisectAnswer answer, std::optional<double> change) {
    BisectStep step;
    step.subject = bisect.commits[index].id;
    step.title = bisect.commits[index].title;
    step.index = index;
    step.test.answer = answer;
    step.test.change = step.test.ci_lower = step.test.ci_upper = change;
    step.test.pairs = 10;
    if (!change) step.test.reason = "does not build: " + std::string(120, 'e');
    bisect.steps.push_back(step);
    conclude(bisect);
  };
  add(3, BisectAnswer::different, -0.081);
  add(2, BisectAnswer::skipped, {});
  add(1, BisectAnswer::same, 0.001);
  const auto shown = bisect_table(bisect, {});
  EXPECT_LT(shown.find("outcome: range (exit code 4)"), shown.find("against good"));
  for (const auto* word : {"seed 42", "-8.10", "skipped", "does not build", "cccccccccccc", "runs/b/bisect.json"})
    EXPECT_NE(shown.find(word), std::string::npos) << word << "\n" << shown;
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace stepgauge::report
