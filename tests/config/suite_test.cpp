// The keys of a suite besides its matrix.
#include "support.hpp"

namespace stepgauge::config {
namespace {

using testing::ElementsAre;

TEST(Suite, ReadsEveryKeyOfThePolicy) {
  const auto suite =
      suite_of("description: all of it\nlaunches: 7\n" + one_cell +
               "measure: {steps: 11, warmup_block: 2, warmup_max_steps: 33, warmup_max: 2m, losses: 4}\n"
               "limits: {launch: 1h, silence: 2m, grace: 500ms}\n"
               "requires: {gpus: 2, gpu_memory_gib: 39.5, compute_capability: 9.0, link: nvlink, memory_gib: 8}\n"
               "tolerance: {throughput: 5%, init_latency: {relative: 20%, floor: 0.5}, stall_ratio: {floor: 2}}\n"
               "price_per_gpu_hour: 2.5\npeak_tflops: 989\n");
  EXPECT_EQ(suite.name, "t");
  EXPECT_EQ(suite.description, "all of it");
  const auto& cell = suite.cells.at(0);
  EXPECT_EQ(cell.suite, "t");
  EXPECT_EQ(cell.launches, 7);
  EXPECT_EQ(cell.measure.steps, 11);
  EXPECT_EQ(cell.measure.warmup_block, 2);
  EXPECT_EQ(cell.measure.warmup_max_steps, 33);
  EXPECT_EQ(cell.measure.warmup_max_s, 120);
  EXPECT_EQ(cell.measure.losses, 4);
  EXPECT_EQ(cell.limits.launch_s, 3600);
  EXPECT_EQ(cell.limits.silence_s, 120);
  EXPECT_EQ(cell.limits.grace_s, 0.5);
  EXPECT_EQ(cell.needs.gpus, 2);
  EXPECT_EQ(cell.needs.gpu_memory_gib, 39.5);
  EXPECT_EQ(cell.needs.compute_capability, 9.0);
  EXPECT_EQ(cell.needs.link, "nvlink");
  EXPECT_EQ(cell.needs.memory_gib, 8);
  EXPECT_EQ(cell.tolerance.at("throughput").relative, 0.05);
  EXPECT_FALSE(cell.tolerance.at("throughput").floor.has_value());
  EXPECT_EQ(cell.tolerance.at("init_latency").floor, 0.5);
  EXPECT_EQ(cell.tolerance.at("stall_ratio").floor, 2);
  EXPECT_EQ(cell.price_per_gpu_hour, 2.5);
  EXPECT_EQ(cell.peak_tflops, 989);
}

TEST(Suite, WorkersAreCommandsWithoutAShell) {
  const auto suite = suite_of(
      "workers:\n  peer: [python3, scripts/peers/peer.py, \"a b\"]\naxes: {worker: [stepgauge, peer]}\n" + one_cell);
  EXPECT_THAT(suite.workers.at("peer"), ElementsAre("python3", "scripts/peers/peer.py", "a b"));
  EXPECT_EQ(suite.cells.at(1).worker, "peer");
  EXPECT_THAT(ids_of(suite).at(1), testing::HasSubstr("worker.peer"));
  expect_error("workers: {peer: python3 peer.py}\n", "3:17",
               {"workers.peer", "expected a list of strings", "no shell"});
  expect_error("workers: {peer: []}\n", "3:17", {"the list is empty"});
  expect_error("workers: {peer: [\"\"]}\n", "3:17", {"program's name is empty"});
  expect_error("workers: {stepgauge: [x]}\n", "3:11", {"built-in worker"});
  expect_error("workers: {a/b: [x]}\n", "3:11", {"expected a name", "a/b"});
  expect_error("workers: {peer: [x]}\ndefaults: {worker: pear}\n", "4:20",
               {"unknown value \"pear\"", "did you mean \"peer\""});
}

TEST(Suite, UnknownKeysNameTheNearest) {
  expect_error("acxes: {}\n", "3:1", {"unknown key \"acxes\"", "did you mean \"axes\""});
  expect_error("measure: {step: 3}\n", "3:11", {"measure: unknown key \"step\"", "\"steps\""});
  expect_error("limits: {launches: 3s}\n", "3:10", {"limits: unknown key \"launches\"", "\"launch\""});
  expect_error("requires: {gpu: 1}\n", "3:12", {"requires: unknown key \"gpu\"", "\"gpus\""});
  expect_error("requires: {link: nvlinc}\n", "3:18", {"unknown value \"nvlinc\"", "\"nvlink\""});
  expect_error("tolerance: {througput: 5%}\n", "3:13", {"unknown metric \"througput\"", "\"throughput\""});
  expect_error("tolerance: {throughput: {relativ: 5%}}\n", "3:26", {"unknown key \"relativ\"", "\"relative\""});
  expect_error("tolerance: {throughput: {}}\n", "3:25", {"expected relative, floor or both"});
  expect_error("tolerance: {stall_ratio: 5%}\n", "3:26", {"compared in points", "floor"});
  expect_error("defaults: {workloads: resnet18}\n", "3:12", {"defaults: unknown key \"workloads\"", "\"workload\""});
  expect_error("axes: {bach: [1]}\n", "3:8", {"axes: unknown key \"bach\"", "\"batch\""});
  expect_error("overrides: [{math: {}, set: {}}]\n", "3:14", {"overrides[0]: unknown key \"math\"", "\"match\""});
}

TEST(Suite, NameAndVersionAreRequired) {
  expect_text_error("name: t\n", "1:1", {"\"stepgauge\" is missing", "stepgauge: 1"});
  expect_text_error("stepgauge: 1\n", "1:1", {"\"name\" is missing"});
  expect_text_error("stepgauge: 2\nfuture: x\n", "1:12", {"suite version 2 is newer", "up to 1"});
  expect_text_error("stepgauge: 0\nname: t\n", "1:12", {"stepgauge", "found 0"});
  expect_text_error("stepgauge: one\nname: t\n", "1:12", {"expected an integer, found one"});
  expect_text_error("stepgauge: 1\nname: a b\n", "2:7", {"expected a name", "found a b"});
  expect_text_error("stepgauge: 1\nname: ../x\n", "2:7", {"expected a name"});
  expect_text_error("stepgauge: 1\nname: \"\"\n", "2:7", {"expected a name"});
}

TEST(Suite, RangesOfThePolicy) {
  expect_error("launches: 0\n", "3:11", {"launches", "from 1 to 10000", "found 0"});
  expect_error("measure: {steps: 0}\n", "3:18", {"measure.steps", "from 1"});
  expect_error("measure: {warmup_max: 0}\n", "3:23", {"measure.warmup_max", "duration from 0.001s"});
  expect_error("requires: {gpus: -1}\n", "3:18", {"requires.gpus", "from 0"});
  expect_error("price_per_gpu_hour: free\n", "3:21", {"price_per_gpu_hour", "expected a number, found free"});
  expect_error("measure: 3\n", "3:10", {"measure: expected a map, found 3"});
  EXPECT_EQ(suite_of("limits: {grace: 0}\n" + one_cell).cells[0].limits.grace_s, 0);
}

}  // namespace
}  // namespace stepgauge::config
