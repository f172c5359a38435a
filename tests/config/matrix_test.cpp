// From axes to cells: how many, in which order, and what cannot be a matrix.
#include "support.hpp"

namespace stepgauge::config {
namespace {

using testing::ElementsAre;

TEST(Matrix, IsTheProductInAFixedOrder) {
  const auto suite = suite_of(
      "defaults: {device: cpu}\n"
      "axes: {ddp: [1, 2], precision: [bf16, fp32], workload: [resnet18, llama.tiny]}\n");
  EXPECT_THAT(ids_of(suite), ElementsAre("resnet18.b1/eager/bf16/cpu.ddp1", "resnet18.b1/eager/bf16/cpu.ddp2",
                                         "resnet18.b1/eager/fp32/cpu.ddp1", "resnet18.b1/eager/fp32/cpu.ddp2",
                                         "llama.tiny.b1/eager/bf16/cpu.ddp1", "llama.tiny.b1/eager/bf16/cpu.ddp2",
                                         "llama.tiny.b1/eager/fp32/cpu.ddp1", "llama.tiny.b1/eager/fp32/cpu.ddp2"));
}

TEST(Matrix, CountIsTheProductOfTheLists) {
  for (int batches = 1; batches <= 4; ++batches) {
    for (int seeds = 1; seeds <= 3; ++seeds) {
      for (int ranks = 1; ranks <= 3; ++ranks) {
        const auto list = [](int count) {
          std::string out = "[1";
          for (int i = 2; i <= count; ++i) out += ", " + std::to_string(i);
          return out + "]";
        };
        const auto suite = suite_of(one_cell + "axes: {batch: " + list(batches) + ", seed: " + list(seeds) +
                                    ", ddp: " + list(ranks) + "}\n");
        EXPECT_EQ(suite.cells.size(), static_cast<std::size_t>(batches * seeds * ranks));
        std::set<std::string> hashes;
        for (const auto& cell : suite.cells) hashes.insert(cell.hash);
        EXPECT_EQ(hashes.size(), suite.cells.size());
      }
    }
  }
}

TEST(Matrix, ZipAdvancesTogether) {
  const auto suite = suite_of(
      "defaults: {device: cpu}\nzip: [{batch: [64, 256], workload: [resnet18, resnet50]}]\naxes: {precision: [fp32, "
      "bf16]}\n");
  EXPECT_THAT(ids_of(suite), ElementsAre("resnet18.b64/eager/fp32/cpu.ddp1", "resnet18.b64/eager/bf16/cpu.ddp1",
                                         "resnet50.b256/eager/fp32/cpu.ddp1", "resnet50.b256/eager/bf16/cpu.ddp1"));
  expect_error("zip:\n  - {workload: [resnet18, resnet50], batch: [1]}\n", "4:45",
               {"zip[0].batch", "expected 2 values as in \"workload\", found 1"});
  expect_error("zip: [{batch: [1]}]\naxes: {batch: [2]}\n", "3:8",
               {"axis \"batch\" is in the matrix twice", "t.yaml:4"});
  expect_error("zip: [{batch: [1]}, {batch: [2]}]\n", "3:22", {"in the matrix twice"});
  expect_error("zip: [{}]\n", "3:7", {"zip[0]: the map is empty"});
  expect_error("zip: {batch: [1]}\n", "3:6", {"zip: expected a list of maps"});
}

TEST(Matrix, IncludeAddsCellsOverDefaults) {
  const auto suite =
      suite_of(one_cell + "axes: {precision: [fp32]}\ninclude: [{workload: resnet50, batch: 8}, {batch: 2}]\n");
  EXPECT_THAT(ids_of(suite), ElementsAre("resnet18.b1/eager/fp32/cpu.ddp1", "resnet50.b8/eager/fp32/cpu.ddp1",
                                         "resnet18.b2/eager/fp32/cpu.ddp1"));
  EXPECT_EQ(suite_of("include: [{workload: resnet50, device: cpu}]\n").cells.size(), 1u);
  expect_error("include: [{batch: 8}]\n", "3:11", {"include[0]", "\"workload\" is missing"});
  expect_error("include: [{workload: [resnet50]}]\n", "3:22", {"expected one value, found a list"});
  expect_error("include: [{workload: llama.tiny, image: 32}]\n", "3:34", {"no size \"image\""});
  expect_error("include: [{}]\n", "3:11", {"the map is empty"});
}

TEST(Matrix, EmptyOnesAreErrors) {
  expect_error("", "1:1", {"the matrix is empty", "workload"});
  expect_error("axes: {}\n", "3:7", {"axes: the map is empty"});
  expect_error("axes: {precision: []}\n", "3:19", {"axes.precision: the list is empty"});
  expect_error("axes: {precision: fp32}\n", "3:19", {"expected a list of values, found fp32"});
  expect_error("axes:\n", "3:1", {"axes: expected a map, found nothing"});
  expect_error("axes: {precision: [fp32]}\n", "1:1", {"the matrix is empty"});
  expect_error(one_cell + "exclude: [{workload: \"*\"}]\n", "4:11", {"the matrix is empty: all 1 cells are excluded"});
  expect_error("defaults: {precision: [fp32]}\n", "3:23", {"expected one value, found a list"});
}

TEST(Matrix, TooLargeIsRefusedBeforeExpansion) {
  std::string list = "[0";
  for (int i = 1; i < 101; ++i) list += ", " + std::to_string(i);
  list += "]";
  const auto body =
      one_cell + "axes:\n  seed: " + list + "\n  batch: [1" + list.substr(2) + "\n  ddp: [1" + list.substr(2) + "\n";
  expect_error(body, "1:1", {"more than 1000000 cells"});
  std::string huge = one_cell + "zip: []\naxes:\n";
  for (const auto* axis : {"seed", "batch", "image", "ddp"})
    huge += std::string("  ") + axis + ": [9" + list.substr(2) + "\n";
  expect_error(huge, "1:1", {"more than 1000000 cells"});
}

TEST(Matrix, IdenticalCellsAreKeptOnce) {
  const auto suite = suite_of("defaults: {device: cpu}\naxes: {workload: [resnet18, llama.tiny], image: [32, 64]}\n");
  EXPECT_THAT(ids_of(suite),
              ElementsAre("resnet18.image32.b1/eager/fp32/cpu.ddp1", "resnet18.image64.b1/eager/fp32/cpu.ddp1",
                          "llama.tiny.b1/eager/fp32/cpu.ddp1"));
  EXPECT_EQ(suite.merged, 1u);
}

TEST(Shapes, AnAxisThatNoCellUsesIsAnError) {
  expect_error("defaults: {workload: llama.tiny, device: cpu}\naxes:\n  image: [32]\n", "5:3",
               {"image: no cell's workload"});
  expect_error("defaults: {workload: resnet18, sequence: 32}\n", "3:32", {"sequence: no cell's workload"});
  expect_error("zip: [{workload: [resnet18, resnet50], sequence: [8, 16]}]\n", "3:40", {"sequence"});
  expect_error(one_cell + "overrides: [{match: {workload: resnet18}, set: {sequence: 8}}]\n", "4:59", {"sequence"});
  expect_error("defaults: {workload: resnet18}\naxes: {image: [5000]}\n", "4:16",
               {"image: expected an integer from 8 to 4096", "5000"});
}

TEST(Shapes, TheNearerPlaceWins) {
  const auto image = [](const std::string& body) { return suite_of(body).cells.at(0).workload.sizes.at("image"); };
  EXPECT_EQ(image("defaults: {device: cpu, image: 64}\naxes: {workload: [{name: resnet18, image: 32}]}\n"), 32);
  EXPECT_EQ(image("defaults: {device: cpu, workload: {name: resnet18, image: 32}}\naxes: {image: [64]}\n"), 64);
  EXPECT_EQ(image("defaults: {device: cpu, workload: {name: resnet18, image: 32}}\n"
                  "overrides: [{match: {image: 32}, set: {image: 96}}]\n"),
            96);
  expect_error("axes: {workload: [{name: resnet18, image: 32}], image: [64]}\n", "3:57",
               {"image: given twice", "t.yaml:3"});
}

TEST(Overrides, ApplyInOrderToMatchingCells) {
  const auto suite = suite_of(
      "defaults: {device: cpu}\naxes: {workload: [resnet18, resnet50]}\nmeasure: {steps: 10, losses: 2}\nlaunches: "
      "3\noverrides:\n"
      "  - {match: {workload: resnet50}, set: {batch: 256, launches: 5, measure: {steps: 20}}}\n"
      "  - {match: {batch: 256}, set: {requires: {memory_gib: 4}, tolerance: {throughput: 9%}, limits: {grace: 1}}}\n");
  const auto& small = suite.cells.at(0);
  const auto& large = suite.cells.at(1);
  EXPECT_EQ(small.batch, 1);
  EXPECT_EQ(small.launches, 3);
  EXPECT_EQ(small.needs.memory_gib, 0);
  EXPECT_EQ(large.batch, 256);
  EXPECT_EQ(large.launches, 5);
  EXPECT_EQ(large.measure.steps, 20);
  EXPECT_EQ(large.measure.losses, 2);
  EXPECT_EQ(large.needs.memory_gib, 4);
  EXPECT_EQ(large.limits.grace_s, 1);
  EXPECT_EQ(large.tolerance.at("throughput").relative, 0.09);
  EXPECT_THAT(large.id, testing::StartsWith("resnet50.b256/"));
  EXPECT_TRUE(small.tolerance.empty());
}

TEST(Overrides, KeepWhatTheyDoNotName) {
  const auto suite = suite_of(
      "defaults: {device: cpu, workload: resnet18, env: {OMP_NUM_THREADS: 1}, optimizer: {lr: 0.5}}\n"
      "axes: {ddp: [{ranks: 2, bucket_cap_mb: 5}]}\noverrides:\n"
      "  - {match: {ddp: 2}, set: {ddp: {static_graph: true}, env: {MKL_DYNAMIC: \"FALSE\"}, optimizer: {momentum: "
      "0}}}\n");
  const auto& cell = suite.cells.at(0);
  EXPECT_EQ(cell.ddp.ranks, 2);
  EXPECT_EQ(cell.ddp.bucket_cap_mb, 5);
  EXPECT_TRUE(cell.ddp.static_graph);
  EXPECT_EQ(cell.env.size(), 2u);
  EXPECT_EQ(cell.optimizer.lr, 0.5);
  EXPECT_EQ(cell.optimizer.momentum, 0);
}

TEST(Overrides, BadOnes) {
  expect_error(one_cell + "overrides: [{match: {batch: 7}, set: {seed: 1}}]\n", "4:29",
               {"overrides[0].match: matches no cell", "batch 7"});
  expect_error(one_cell + "overrides: [{match: {batch: 1}, set: {}}]\n", "4:38",
               {"overrides[0].set: the map is empty"});
  expect_error(one_cell + "overrides: [{match: {batch: 1}}]\n", "4:13", {"\"set\" is missing"});
  expect_error(one_cell + "overrides: [{set: {batch: 1}}]\n", "4:13", {"\"match\" is missing"});
  expect_error(one_cell + "overrides: [{match: {batch: 1}, set: {launchs: 1}}]\n", "4:39",
               {"unknown key \"launchs\"", "\"launches\""});
}

TEST(Matrix, CudaCellsRequireAGpuPerRank) {
  const auto suite = suite_of("defaults: {workload: resnet18}\naxes: {ddp: [1, 2], device: [cuda, cpu]}\n");
  EXPECT_EQ(suite.cells.at(0).needs.gpus, 1);
  EXPECT_EQ(suite.cells.at(1).needs.gpus, 0);
  EXPECT_EQ(suite.cells.at(2).needs.gpus, 2);
  EXPECT_EQ(suite_of("defaults: {workload: resnet18, ddp: 16}\nrequires: {gpus: 8}\n").cells.at(0).needs.gpus, 8);
}

}  // namespace
}  // namespace stepgauge::config
