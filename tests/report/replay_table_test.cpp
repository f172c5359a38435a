// `stepgauge replay` as a table.
#include "report/replay_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/detail/escape.hpp"

namespace stepgauge::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

replay::ReplayView many_ranks() {
  replay::ReplayView view;
  view.sources = {"logs"};
  view.world_size = 1000;
  view.files = 1000;
  view.groups = 1;
  for (int rank = 0; rank < 1000; ++rank) view.ranks.push_back({rank, 42, 0, 1 << 20, 0, 0, 41, "logs/rank.jsonl"});
  return view;
}

TEST(ReplayTable, OfManyRanksTheNamedOnesAreShown) {
  auto view = many_ranks();
  view.patterns.push_back({replay::PatternKind::silent, {777}, "", 42, 0, 1, 0, "rank 777 is silent"});
  view.pattern_ops.emplace_back();
  const auto text = replay_table(view, 10);
  EXPECT_THAT(text, HasSubstr("1000 files with collectives, 1000 ranks of 1000"));
  EXPECT_THAT(text, HasSubstr("rank 777           42      0    41"));
  EXPECT_THAT(text, HasSubstr("silent: rank 777 is silent"));
  EXPECT_THAT(text, HasSubstr("... and 984 more ranks; --json has all of them"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
}

TEST(ReplayTable, OnlyTheFirstPatternsAreShown) {
  auto view = many_ranks();
  for (int i = 0; i < 5; ++i) {
    view.patterns.push_back({replay::PatternKind::skew, {i}, "", 42, 0, 1, 0, "late " + std::to_string(i)});
  }
  const auto text = replay_table(view, 2);
  EXPECT_THAT(text, HasSubstr("late 1"));
  EXPECT_THAT(text, Not(HasSubstr("late 2")));
  EXPECT_THAT(text, HasSubstr("... and 3 more patterns (--top)"));
}

TEST(ReplayTable, HostileTextStaysOnItsLine) {
  auto view = many_ranks();
  view.ranks[0].origin = std::string(300, 'f') + "\x1b[31m\n";
  view.notes.push_back("\x1b[31m\n" + std::string(300, 'n'));
  view.first_unread = "\x1b[31m";
  view.unread_lines = 1;
  view.patterns.push_back({replay::PatternKind::skew, {0}, "", 42, 0, 1, 0, std::string(300, 'p') + "\x1b[31m"});
  view.slowest.push_back({{}, {replay::Kind::all_reduce, 1, 1, 0, "", std::string(100, 's') + "\x1b"}, ""});
  const auto text = replay_table(view, 5);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(detail::columns(text.substr(begin, end - begin)), 100u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace stepgauge::report
