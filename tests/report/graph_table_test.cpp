// `stepgauge graph show` and `graph diff` as tables.
#include "report/graph_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../graph/snapshots.hpp"
#include "report/detail/escape.hpp"

namespace stepgauge::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_width(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(detail::columns(text.substr(begin, end - begin)), 100u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(GraphTable, RegionsBreaksTargetsAndNodes) {
  const auto text = graph_table(graph::view(graph::test::cut(), {"1/0", 1}));
  EXPECT_THAT(text, HasSubstr("region      nodes  calls  from                        ended\n"
                              "dynamo:0/0      2      2  llama/twin.py:10 (forward)  graph break\n"
                              "dynamo:1/0      2      2  llama/twin.py:10 (forward)  whole frame\n"));
  EXPECT_THAT(text, HasSubstr("dynamo:0/0 ended at a graph break: print"));
  EXPECT_THAT(text, HasSubstr("aten.mm  dynamo      2\n... and 2 other targets"));
  EXPECT_THAT(text, HasSubstr("relu  aten.relu  [32, 64]  llama/twin.py:14 (forward)"));
  EXPECT_THAT(graph_table(graph::view({})), HasSubstr("no compiled region"));
}

TEST(GraphTable, WhatMovedVanishedAndAppeared) {
  auto after = graph::test::cut();
  after.regions[1].nodes[1] = graph::test::node("gelu", "aten.gelu", 14);
  const auto text = graph_diff_table(graph::diff(graph::test::whole(), after), 2);
  EXPECT_THAT(text, HasSubstr("2 nodes the same, 1 moved to another region, 1 vanished, 1 appeared"));
  EXPECT_THAT(text, HasSubstr("dynamo:0/0    4 -> 2"));
  EXPECT_THAT(text, HasSubstr("+ dynamo:1/0  0 -> 2"));
  EXPECT_THAT(text, HasSubstr("dynamo:0/0 ended: whole frame -> graph break: print"));
  EXPECT_THAT(text, HasSubstr("moved 1 x aten.mm [32, 64] at llama/twin.py:13 (forward) in dynamo:0/0 -> dynamo:1/0"));
  EXPECT_THAT(text, HasSubstr("vanished 1 x aten.relu [32, 64] at llama/twin.py:14 (forward) in dynamo:0/0: relu"));
  EXPECT_THAT(text, Not(HasSubstr("gelu"))) << "two rows were asked for";
  EXPECT_THAT(text, HasSubstr("... and 1 more rows"));
}

TEST(GraphTable, LongAndHostileTextStaysOnItsLine) {
  auto snapshot = graph::test::cut();
  snapshot.regions[0].ended = "graph break: " + std::string(300, 'x') + "\x1b[31m\n";
  snapshot.regions[0].place.file = std::string(300, 'f');
  snapshot.regions[0].nodes[0].target = std::string(300, 't') + "\x1b[31m";
  snapshot.regions[0].nodes[0].name = std::string(200, 'n');
  const auto text = graph_table(graph::view(snapshot, {"0/0", 5}));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  expect_width(text);
  const auto diff = graph_diff_table(graph::diff(snapshot, graph::test::whole()), 10);
  EXPECT_THAT(diff, Not(HasSubstr("\x1b")));
  expect_width(diff);
}

}  // namespace
}  // namespace stepgauge::report
