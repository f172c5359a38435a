// Snapshot files in: what is read, and what is said of files that cannot be.
#include "graph/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "graph/view.hpp"
#include "snapshots.hpp"

namespace stepgauge::graph {
namespace {

using testing::HasSubstr;

class SnapshotFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("stepgauge_graph_" + std::to_string(::getpid()) + "_" +
                                                        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, const std::string& name = "rank0.graphs.json") const {
    const auto path = (folder_ / name).string();
    write_text_file(path, text);
    return path;
  }
  std::string error_of(const std::string& text, const SnapshotLimits& limits = {}) const {
    return error_at(write(text), std::nullopt, limits);
  }
  static std::string error_at(const std::string& path, std::optional<int> rank = std::nullopt,
                              const SnapshotLimits& limits = {}) {
    try {
      read_snapshot(path, rank, limits);
    } catch (const ContractError& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

Json document() {
  return {{"schema", "stepgauge.graphs"},
          {"version", 1},
          {"cell_id", "c"},
          {"mode", "compile.default"},
          {"regions",
           {{{"name", "0/0"},
             {"function", "forward"},
             {"file", "/x/workloads/llama/twin.py"},
             {"line", 12},
             {"kind", "dynamo"},
             {"ended", "graph break: print"},
             {"nodes",
              {{{"name", "x"},
                {"op", "placeholder"},
                {"target", "x"},
                {"file", nullptr},
                {"line", nullptr},
                {"function", nullptr},
                {"shape", nullptr},
                {"dtype", nullptr},
                {"inputs", Json::array()}},
               {{"name", "mm"},
                {"op", "call_function"},
                {"target", "aten.mm"},
                {"file", "/x/workloads/llama/twin.py"},
                {"line", 14},
                {"function", "forward"},
                {"shape", {32, "s0"}},
                {"dtype", "float32"},
                {"inputs", {"x"}}}}}}}}};
}

TEST_F(SnapshotFile, IsReadFromAFileAndFromALaunchFolder) {
  const auto path = write(document().dump(), "rank1.graphs.json");
  write("{}", "rank0.trace.json");
  for (const auto& from : {path, folder_.string()}) {
    const auto snapshot = read_snapshot(from);
    ASSERT_EQ(snapshot.regions.size(), 1u);
    const auto& region = snapshot.regions[0];
    EXPECT_EQ(place_text(region.place), "llama/twin.py:12 (forward)");
    ASSERT_EQ(region.nodes.size(), 2u);
    EXPECT_FALSE(region.nodes[0].shape);
    EXPECT_EQ(shape_text(region.nodes[1]), "[32, s0]");
  }
  EXPECT_THAT(error_at(folder_.string(), 0), HasSubstr("no graph snapshot of rank 0; there are those of 1"));
}

TEST_F(SnapshotFile, WhatIsMissingIsSaid) {
  EXPECT_THAT(error_at(folder_.string()), HasSubstr("measure: {graphs: true}"));
  EXPECT_THAT(error_at((folder_ / "nothing.json").string()), HasSubstr("cannot open"));
}

TEST_F(SnapshotFile, DamagedAndForeignFilesAreNamedWithTheirPlace) {
  EXPECT_THAT(error_of("{\"schema\": \"stepgauge.gra"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("not a graph snapshot"));
  EXPECT_THAT(error_of("{\"traceEvents\": []}"), HasSubstr("not a graph snapshot"));
  auto value = document();
  value["version"] = 7;
  EXPECT_THAT(error_of(value.dump()), HasSubstr("snapshot version 7, this program reads up to 1"));
  value = document();
  value["regions"][0]["nodes"][1].erase("op");
  EXPECT_THAT(error_of(value.dump()), HasSubstr("regions[0].nodes[1]: \"op\" is missing"));
  value = document();
  value["regions"][0]["nodes"] = "many";
  EXPECT_THAT(error_of(value.dump()), HasSubstr("regions[0]: \"nodes\" is string, expected a list"));
  value = document();
  value["regions"][0]["nodes"][1]["shape"] = {1.5};
  EXPECT_THAT(error_of(value.dump()), HasSubstr("\"shape\" holds number"));
}

TEST_F(SnapshotFile, HugeFilesAreRefused) {
  EXPECT_THAT(error_of(document().dump(), {.bytes = 100, .nodes = 1000}), HasSubstr("at most 100 are read"));
  EXPECT_THAT(error_of(document().dump(), {.bytes = 100'000, .nodes = 1}), HasSubstr("too many nodes"));
}

TEST(View, RegionsTargetsAndTheNodesOfOne) {
  const auto out = view(test::cut(), {"dynamo:1/0", 2});
  ASSERT_EQ(out.regions.size(), 2u);
  EXPECT_EQ(out.regions[0].ended, "graph break: print");
  EXPECT_EQ(out.targets[0].target, "aten.mm");
  EXPECT_EQ(out.targets[0].count, 2u);
  EXPECT_EQ(out.other_targets, 1u);
  EXPECT_EQ(out.nodes.size(), 2u);
  EXPECT_NO_THROW(dump_line(to_json(out)));
}

TEST(View, AnUnknownRegionIsAnsweredWithTheKnownOnes) {
  try {
    view(test::cut(), {"2/0", 2});
    FAIL();
  } catch (const ContractError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no region \"2/0\""));
    EXPECT_THAT(error.what(), HasSubstr("dynamo:0/0, dynamo:1/0"));
  }
}

}  // namespace
}  // namespace stepgauge::graph
