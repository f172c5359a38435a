// Compile modes with their options and caches, checkpointing, who wraps DDP, planted faults of the step: how they are
// written, and which of them mean the same cell.
#include "contract/cell.hpp"

#include "support.hpp"

namespace stepgauge::config {
namespace {

using testing::ElementsAre;

Cell cell_of(const std::string& defaults) {
  return suite_of("defaults: {workload: resnet18, " + defaults + "}\n").cells.at(0);
}

TEST(CompileAxis, TakesANameOrAMapWithOptions) {
  EXPECT_EQ(cell_of("compile: cuda_graph").compile, "cuda_graph");
  const auto compiled = cell_of(
      "compile: {mode: compile.default, fullgraph: true, dynamic: off, ddp_optimizer: false, compiled_autograd: true, "
      "compile_optimizer: true}");
  EXPECT_EQ(compiled.compile, "compile.default");
  EXPECT_TRUE(compiled.compile_options.fullgraph);
  EXPECT_EQ(compiled.compile_options.dynamic, "off");  // text, although other YAML loaders take it for a boolean
  EXPECT_FALSE(compiled.compile_options.ddp_optimizer);
  EXPECT_TRUE(compiled.compile_options.compiled_autograd);
  EXPECT_TRUE(compiled.compile_options.compile_optimizer);
  EXPECT_EQ(cell_of("compile: {mode: torchscript, executor: simple}").compile_options.executor, "simple");
  EXPECT_EQ(cell_of("compile: {mode: compile.default}").id, cell_of("compile: compile.default").id);
}

TEST(CompileAxis, AnOptionThatTheModeDoesNotHaveIsAnError) {
  expect_error("defaults: {workload: resnet18, compile: {mode: torchscript, fullgraph: true}}\n", "3:61",
               {"mode \"torchscript\" has no option \"fullgraph\"", "it has executor"});
  expect_error("defaults: {workload: resnet18, compile: {mode: compile.export, executor: simple}}\n", "3:64",
               {"no option \"executor\"", "it has fullgraph, dynamic, ddp_optimizer, compiled_autograd"});
  expect_error("defaults: {workload: resnet18, compile: {mode: cuda_graph, dynamic: on}}\n", "3:60",
               {"mode \"cuda_graph\" has no option \"dynamic\"", "it has no options"});
  expect_error("defaults: {workload: resnet18, compile: {fullgraph: true}}\n", "3:42", {"mode \"eager\""});
  expect_error("defaults: {compile: {mode: compile.defalt}}\n", "3:28",
               {"unknown value \"compile.defalt\"", "\"compile.default\""});
  expect_error("defaults: {compile: {mod: eager}}\n", "3:22", {"unknown key \"mod\"", "\"mode\""});
  expect_error("defaults: {compile: {mode: compile.default, fullgraph: on}}\n", "3:56",
               {"true or false", "write true"});
  expect_error("defaults: {compile: {mode: compile.default, dynamic: true}}\n", "3:54",
               {"unknown value \"true\"", "auto, on, off"});
  expect_error("axes: {compile: [[eager]]}\n", "3:18", {"expected a compile mode or a map, found a list"});
}

TEST(CompileAxis, OptionsOfTheDefaultsHoldForTheirOwnModeAlone) {
  const auto suite = suite_of(
      "defaults: {workload: resnet18, compile: {mode: compile.default, dynamic: off}}\n"
      "axes: {compile: [eager, compile.default, {fullgraph: true}, {mode: compile.default, dynamic: on}]}\n");
  ASSERT_EQ(suite.cells.size(), 4u);
  EXPECT_EQ(suite.cells[0].compile_options.dynamic, "auto");
  EXPECT_EQ(suite.cells[1].compile_options.dynamic, "off");
  EXPECT_EQ(suite.cells[2].compile_options.dynamic, "off");
  EXPECT_TRUE(suite.cells[2].compile_options.fullgraph);
  EXPECT_EQ(suite.cells[3].compile_options.dynamic, "on");
}

TEST(CompileAxis, OverridesAddOptions) {
  const auto suite = suite_of(
      "defaults: {workload: resnet18}\naxes: {compile: [eager, compile.default]}\n"
      "overrides: [{match: {compile: compile.default}, set: {compile: {fullgraph: true}}}]\n");
  EXPECT_FALSE(suite.cells.at(0).compile_options.fullgraph);
  EXPECT_TRUE(suite.cells.at(1).compile_options.fullgraph);
}

TEST(CacheAxis, IsThatOfModesWithCachesAlone) {
  EXPECT_EQ(cell_of("compile: compile.default").cache, "cold");
  EXPECT_EQ(cell_of("compile: compile.default, cache: warm").cache, "warm");
  EXPECT_EQ(cell_of("cache: warm").cache, "");
  EXPECT_EQ(cell_of("compile: torchscript, cache: warm").cache, "");
  EXPECT_EQ(cell_of("cache: warm").id, cell_of("seed: 0").id);
  expect_error("defaults: {cache: hot}\n", "3:19", {"unknown value \"hot\"", "cold, warm"});
}

TEST(CacheAxis, ACrossWithModesThatHaveNoneGivesEachOfThemOnce) {
  const auto suite = suite_of(
      "defaults: {workload: resnet18}\naxes: {compile: [eager, cuda_graph, compile.default], cache: [cold, warm]}\n");
  EXPECT_THAT(ids_of(suite), ElementsAre("resnet18.b1/eager/fp32/cuda.ddp1", "resnet18.b1/cuda_graph/fp32/cuda.ddp1",
                                         "resnet18.b1/compile.default.cold/fp32/cuda.ddp1",
                                         "resnet18.b1/compile.default.warm/fp32/cuda.ddp1"));
  const auto excluded = suite_of(
      "defaults: {workload: resnet18}\naxes: {compile: [eager, compile.default], cache: [cold, warm]}\n"
      "exclude: [{compile: eager}]\n");
  EXPECT_EQ(excluded.cells.size(), 2u);
  EXPECT_EQ(excluded.excluded.size(), 1u);  // told once, as it would have been kept once
}

TEST(CheckpointingAxis, TakesANameOrAMap) {
  EXPECT_EQ(cell_of("checkpointing: every_3.reentrant").checkpointing, "every_3.reentrant");
  EXPECT_EQ(cell_of("checkpointing: {policy: full, every: 2, reentrant: true}").checkpointing, "every_2.reentrant");
  EXPECT_EQ(cell_of("checkpointing: {policy: full, every: 1}").checkpointing, "full");
  EXPECT_EQ(cell_of("checkpointing: {policy: selective, reentrant: false}").checkpointing, "selective");
  EXPECT_EQ(cell_of("checkpointing: {policy: none}").id, cell_of("seed: 0").id);
}

TEST(CheckpointingAxis, WhatThereIsIsSaidShortly) {
  expect_error("defaults: {checkpointing: often}\n", "3:27",
               {"unknown value \"often\"", "none, full, every_K (K from 2 to 8), selective", ".reentrant"});
  expect_error("defaults: {checkpointing: every_9}\n", "3:27", {"did you mean \"every_"});
  expect_error("defaults: {checkpointing: selective.reentrant}\n", "3:27", {"unknown value"});
  expect_error("defaults: {checkpointing: {policy: selective, reentrant: true}}\n", "3:58",
               {"only policy full may be reentrant, found selective"});
  expect_error("defaults: {checkpointing: {policy: none, every: 2}}\n", "3:49", {"only policy full", "found none"});
  expect_error("defaults: {checkpointing: {every: 2}}\n", "3:27", {"\"policy\" is missing"});
  expect_error("defaults: {checkpointing: {policy: full, every: 9}}\n", "3:49", {"from 1 to 8"});
}

TEST(Wrapper, IsAskedOfPythonModesOfSeveralRanks) {
  const auto wrapper = [](const std::string& text) { return cell_of(text).ddp.wrapper; };
  EXPECT_EQ(wrapper("ddp: 2, compile: python_eager"), "torch");
  EXPECT_EQ(wrapper("ddp: {ranks: 2, wrapper: reducer}, compile: compile.default"), "reducer");
  EXPECT_EQ(wrapper("ddp: {ranks: 1, wrapper: reducer}, compile: compile.default"), "");
  EXPECT_EQ(wrapper("ddp: {ranks: 2, wrapper: reducer}, compile: cuda_graph"), "");
  EXPECT_EQ(suite_of("defaults: {workload: resnet18}\n"
                     "axes: {compile: [eager, python_eager], ddp: [2, {ranks: 2, wrapper: reducer}]}\n")
                .cells.size(),
            3u);
  expect_error("defaults: {ddp: {ranks: 2, wrapper: horovod}}\n", "3:37",
               {"unknown value \"horovod\"", "torch, reducer"});
}

TEST(Perturb, AStepThatDoesNotDoItsWorkStandsInTheId) {
  const auto cell = cell_of("perturb: {wrong: skip_backward}");
  EXPECT_EQ(cell.perturb.wrong, "skip_backward");
  EXPECT_THAT(cell.id, testing::HasSubstr("PERTURBED.skip_backward"));
  expect_error("defaults: {perturb: {wrong: skip_backwards}}\n", "3:29", {"\"skip_backward\""});
}

TEST(Policy, OfParityGraphsCensusAndCompiling) {
  const auto cell = suite_of(
                        "defaults: {workload: resnet18}\nmeasure: {parity_steps: 5, graphs: true, ir_census: true}\n"
                        "limits: {compile: 20m}\n")
                        .cells.at(0);
  EXPECT_EQ(cell.measure.parity_steps, 5);
  EXPECT_TRUE(cell.measure.graphs);
  EXPECT_TRUE(cell.measure.ir_census);
  EXPECT_EQ(cell.limits.compile_s, 1200);
  EXPECT_EQ(cell_of("seed: 0").measure.parity_steps, 3);
  EXPECT_EQ(suite_of("defaults: {workload: resnet18}\nmeasure: {parity_steps: 0}\n").cells.at(0).measure.parity_steps,
            0);
  expect_error("measure: {graphs: yes}\n", "3:19", {"measure.graphs", "write true"});
  expect_error("limits: {compile: fast}\n", "3:19", {"limits.compile", "a duration"});
  expect_error("measure: {parity_step: 3}\n", "3:11", {"unknown key \"parity_step\"", "\"parity_steps\""});
}

const std::string modes =
    "defaults: {workload: resnet18, ddp: 2}\n"
    "axes:\n  compile: [eager, compile.default, {mode: compile.default, fullgraph: true}, compile.max-autotune]\n"
    "  cache: [cold, warm]\n  checkpointing: [none, every_2]\n";

std::size_t left_after(const std::string& exclude) {
  return suite_of(modes + "exclude: [" + exclude + "]\n").cells.size();
}

TEST(Exclude, MatchesModesOptionsCachesAndCheckpointing) {
  ASSERT_EQ(suite_of(modes).cells.size(), 14u);
  EXPECT_EQ(left_after("{compile: \"compile.*\"}"), 2u);
  EXPECT_EQ(left_after("{compile: compile.default}"), 6u);
  EXPECT_EQ(left_after("{compile: {mode: compile.default, fullgraph: true}}"), 10u);
  EXPECT_EQ(left_after("{compile: [eager, {fullgraph: true}]}"), 8u);
  EXPECT_EQ(left_after("{cache: warm}"), 8u);
  EXPECT_EQ(left_after("{cache: \"*\", checkpointing: none}"), 7u);
  EXPECT_EQ(left_after("{checkpointing: \"every_*\"}"), 7u);
  EXPECT_EQ(left_after("{checkpointing: {policy: full, every: 2}}"), 7u);
  EXPECT_EQ(left_after("{ddp: {wrapper: torch}}"), 2u);
  expect_error(modes + "exclude: [{compile: eager, cache: warm}]\n", "8:11", {"none has all of these values"});
  expect_error(modes + "exclude: [{compile: \"jit*\"}]\n", "8:21", {"no value is like \"jit*\""});
}

TEST(Identity, ModesSurviveTheirJson) {
  for (const auto& cell : suite_of(modes).cells)
    EXPECT_EQ(dump_line(to_json(cell_from_json(to_json(cell), "cell"))), dump_line(to_json(cell)));
}

}  // namespace
}  // namespace stepgauge::config
