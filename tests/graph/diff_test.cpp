// Nodes that appeared, vanished, or moved to another region.
#include "graph/diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshots.hpp"

namespace stepgauge::graph {
namespace {

using test::node;
using test::region;
using testing::ElementsAre;

void expect_counts(const SnapshotDiff& diff, std::size_t same, std::size_t moved, std::size_t vanished,
                   std::size_t appeared) {
  EXPECT_EQ(diff.same, same);
  EXPECT_EQ(diff.moved, moved);
  EXPECT_EQ(diff.vanished, vanished);
  EXPECT_EQ(diff.appeared, appeared);
}

TEST(GraphDiff, ASnapshotAndItselfAreTheSame) {
  const auto out = diff(test::whole(), test::whole());
  expect_counts(out, 4, 0, 0, 0);
  EXPECT_TRUE(out.changes.empty());
  ASSERT_EQ(out.regions.size(), 1u);
  EXPECT_EQ(out.regions[0].in_a, out.regions[0].in_b);
}

TEST(GraphDiff, ABreakMovesWhatComesBehindItToAnotherRegion) {
  const auto out = diff(test::whole(), test::cut());
  expect_counts(out, 2, 2, 0, 0);
  ASSERT_EQ(out.changes.size(), 2u);
  EXPECT_EQ(out.changes[0].from, "dynamo:0/0");
  EXPECT_EQ(out.changes[0].to, "dynamo:1/0");
  EXPECT_EQ(out.changes[0].place.line + out.changes[1].place.line, 13 + 14);
  EXPECT_EQ(out.regions[0].ended_b, "graph break: print");
  EXPECT_EQ(out.regions[1].in_b, "dynamo:1/0");
  EXPECT_EQ(out.regions[1].in_a, "");
  expect_counts(diff(test::cut(), test::whole()), 2, 2, 0, 0);
}

TEST(GraphDiff, NodesThatAppearedAndVanishedAreNamed) {
  auto after = test::whole();
  after.regions[0].nodes[3] = node("gelu", "aten.gelu", 14);
  const auto out = diff(test::whole(), after);
  expect_counts(out, 3, 0, 1, 1);
  EXPECT_EQ(out.changes[0].change, Change::vanished);
  EXPECT_THAT(out.changes[0].names, ElementsAre("relu"));
  EXPECT_EQ(out.changes[1].change, Change::appeared);
  EXPECT_THAT(out.changes[1].names, ElementsAre("gelu"));
}

TEST(GraphDiff, ManyAlikeAreMatchedByTheirNumber) {
  auto before = test::whole(), after = test::whole();
  for (int i = 0; i < 3; ++i) before.regions[0].nodes.push_back(node("mul_" + std::to_string(i), "aten.mul", 20));
  for (int i = 0; i < 5; ++i) after.regions[0].nodes.push_back(node("mul_" + std::to_string(i), "aten.mul", 20));
  const auto out = diff(before, after);
  expect_counts(out, 7, 0, 0, 2);
  EXPECT_EQ(out.changes[0].names.size(), 2u);
}

TEST(GraphDiff, AnotherShapeIsAnotherNode) {
  auto after = test::whole();
  after.regions[0].nodes[0].shape = {{"16", "64"}};
  expect_counts(diff(test::whole(), after), 3, 0, 1, 1);
}

TEST(GraphDiff, AnEditedSourceFileMovesLinesNotNodes) {
  auto after = test::whole();
  for (auto& one : after.regions[0].nodes) one.place.line += 3;
  auto out = diff(test::whole(), after);
  EXPECT_EQ(out.same, 4u);
  EXPECT_GE(out.other_line, 3u);
  EXPECT_EQ(out.moved + out.vanished + out.appeared, 0u);
  for (auto& one : after.regions[0].nodes) one.place.file = "/somewhere/else/workloads/llama/twin.py";
  EXPECT_EQ(diff(after, test::whole()).same, 4u) << "another folder is no other file";
}

TEST(GraphDiff, RenumberedRegionsAreFoundByTheirNodes) {
  auto after = test::whole();
  after.regions.insert(after.regions.begin(), region("0/0", {node("zero", "aten.zeros", 90, "helper")}));
  after.regions[0].place.function = "helper";
  after.regions[1].name = "1/0";
  const auto out = diff(test::whole(), after);
  expect_counts(out, 4, 0, 0, 1);
  EXPECT_EQ(out.regions[0].in_a, "dynamo:0/0");
  EXPECT_EQ(out.regions[0].in_b, "dynamo:1/0");
}

TEST(GraphDiff, WhatIsRecomputedAppearsInTheBackwardGraph) {
  Snapshot before{"a",
                  "",
                  "",
                  {region("0/0", {node("mm", "aten.mm", 11)}, "aot_forward"),
                   region("0/0", {node("mm_1", "aten.mm", 11)}, "aot_backward")}};
  auto after = before;
  after.regions[1].nodes.push_back(node("mm_2", "aten.mm", 11));
  const auto out = diff(before, after);
  expect_counts(out, 2, 0, 0, 1);
  EXPECT_EQ(out.changes[0].to, "aot_backward:0/0");
}

TEST(GraphDiff, WhatPassesInAndOutIsNotCompared) {
  auto after = test::whole();
  auto input = node("x", "x", 0);
  input.op = "placeholder";
  after.regions[0].nodes.push_back(input);
  expect_counts(diff(test::whole(), after), 4, 0, 0, 0);
}

TEST(GraphDiff, NothingAgainstNothing) {
  expect_counts(diff({}, {}), 0, 0, 0, 0);
  expect_counts(diff({}, test::whole()), 0, 0, 0, 4);
}

TEST(GraphDiff, AsJson) {
  const auto json = to_json(diff(test::whole(), test::cut()));
  EXPECT_EQ(json["moved"], 2);
  EXPECT_EQ(json["changes"][0]["change"], "moved");
  EXPECT_TRUE(json["regions"][1]["a"].is_null());
  EXPECT_NO_THROW(dump_line(json));
}

TEST(GraphDiff, ManyNodesTakeNoTime) {
  auto before = test::whole(), after = test::whole();
  for (int i = 0; i < 100'000; ++i) {
    before.regions[0].nodes.push_back(node("n", "aten.mul", i % 500));
    after.regions[0].nodes.push_back(node("n", "aten.mul", (i + 250) % 700));
  }
  const auto out = diff(before, after);
  EXPECT_EQ(out.same + out.moved + out.vanished, 100'004u);
}

}  // namespace
}  // namespace stepgauge::graph
