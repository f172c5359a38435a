// Which values go together, and how a mode is shown and kept in a cell's identity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "contract/cell.hpp"

namespace stepgauge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Cell cell_of(const std::string& compile, const std::string& device = "cuda") {
  Cell cell;
  cell.workload = {"llama.tiny", "llama", {{"layers", 2}}};
  cell.device = device;
  cell.compile = compile;
  return cell;
}

std::string reason_of(const std::function<void(Cell&)>& change, const std::string& compile = "eager",
                      const std::string& device = "cuda") {
  auto cell = cell_of(compile, device);
  change(cell);
  return unsupported_reason(cell);
}

TEST(Modes, EveryModeRunsSomewhere) {
  for (const auto& mode : known_compile_modes()) {
    EXPECT_THAT(unsupported_reason(cell_of(mode)), IsEmpty()) << mode;
    EXPECT_EQ(is_python_mode(mode), mode == "python_eager" || mode.starts_with("compile.")) << mode;
    EXPECT_EQ(has_compile_caches(mode), mode.starts_with("compile.")) << mode;
    EXPECT_EQ(is_cuda_graph_mode(mode), mode.starts_with("cuda_graph")) << mode;
  }
}

TEST(Modes, ACpuHasNoCudaGraphs) {
  for (const auto* mode :
       {"cuda_graph", "cuda_graph.forward_backward", "compile.reduce-overhead", "compile.max-autotune"})
    EXPECT_THAT(unsupported_reason(cell_of(mode, "cpu")), HasSubstr("need")) << mode;
  for (const auto* mode : {"eager", "torchscript", "python_eager", "compile.default", "compile.export"})
    EXPECT_THAT(unsupported_reason(cell_of(mode, "cpu")), IsEmpty()) << mode;
  for (const auto* precision : {"tf32", "fp8", "fp8_delayed"})
    EXPECT_THAT(reason_of([&](Cell& cell) { cell.precision = precision; }, "eager", "cpu"), HasSubstr(precision));
}

TEST(Modes, WhatTracingLosesIsRefused) {
  for (const auto* mode : {"torchscript", "compile.export"}) {
    EXPECT_THAT(reason_of([](Cell& cell) { cell.checkpointing = "every_2"; }, mode), HasSubstr("checkpointed")) << mode;
    EXPECT_THAT(reason_of([](Cell& cell) { cell.precision = "fp8"; }, mode), HasSubstr("fp8")) << mode;
  }
  EXPECT_THAT(reason_of([](Cell& cell) { cell.checkpointing = "full"; }, "compile.default"), IsEmpty());
}

TEST(Modes, WaysToReduceAreTheCppReducers) {
  const auto reason = [](const std::string& overlap, const std::string& hook, const std::string& compile) {
    return reason_of(
        [&](Cell& cell) {
          cell.ddp.ranks = 2;
          cell.ddp.backend = "nccl";
          cell.ddp.overlap = overlap;
          cell.ddp.hook = hook;
        },
        compile);
  };
  for (const auto& hook : known_hooks()) {
    EXPECT_THAT(reason("ddp", hook, "eager"), IsEmpty()) << hook;
    EXPECT_THAT(reason("ddp", hook, "compile.default"), HasSubstr("C++ Reducer")) << hook;
  }
  for (const auto& overlap : known_overlaps()) EXPECT_THAT(reason(overlap, "", "eager"), IsEmpty()) << overlap;
  EXPECT_THAT(reason("optimizer_in_hook", "", "cuda_graph.forward_backward"), HasSubstr("use cuda_graph"));
}

TEST(Modes, SelectiveCheckpointingIsPythons) {
  for (const auto& mode : known_compile_modes()) {
    const auto reason = reason_of([](Cell& cell) { cell.checkpointing = "selective"; }, mode);
    EXPECT_EQ(reason.empty(), is_python_mode(mode) && mode != "compile.export") << mode << ": " << reason;
  }
}

TEST(Modes, APlantedFaultNeedsWhatItSpoils) {
  const auto planted = [](const std::string& wrong, const std::string& mode, const std::string& checkpointing) {
    return reason_of(
        [&](Cell& cell) {
          cell.perturb.wrong = wrong;
          cell.checkpointing = checkpointing;
        },
        mode);
  };
  for (const auto* wrong : {"recompile", "graph_break"}) {
    EXPECT_THAT(planted(wrong, "compile.default", "none"), IsEmpty()) << wrong;
    EXPECT_THAT(planted(wrong, "eager", "none"), HasSubstr("compile.* modes")) << wrong;
  }
  EXPECT_THAT(planted("no_recompute", "eager", "none"), HasSubstr("needs checkpointing"));
  EXPECT_THAT(planted("no_recompute", "eager", "full"), IsEmpty());
  EXPECT_THAT(planted("skip_backward", "eager", "none"), IsEmpty());
}

/// The reason for a strategy and a hook, after a change.
std::string reduction_reason(
    const std::string& overlap, const std::string& hook, const std::string& compile,
    const std::function<void(Cell&)>& change = [](Cell&) {}, const std::string& device = "cuda") {
  return reason_of(
      [&](Cell& cell) {
        cell.ddp.ranks = 2;
        cell.ddp.backend = device == "cuda" ? "nccl" : "gloo";
        cell.ddp.overlap = overlap;
        cell.ddp.hook = hook;
        change(cell);
      },
      compile, device);
}

TEST(Modes, AWayToReduceWorksInEveryCppModeOrSaysWhyNot) {
  for (const auto* mode : {"eager", "torchscript", "cuda_graph", "cuda_graph.forward_backward"}) {
    const bool replayed = is_cuda_graph_mode(mode);
    for (const auto& overlap : known_overlaps()) {
      const bool optimizer_outside = std::string(mode) == "cuda_graph.forward_backward";
      const bool refused = replayed && (overlap == "none" || (overlap == "optimizer_in_hook" && optimizer_outside));
      EXPECT_EQ(reduction_reason(overlap, "", mode).empty(), !refused) << mode << " " << overlap;
    }
    for (const auto& hook : known_hooks()) EXPECT_THAT(reduction_reason("ddp", hook, mode), IsEmpty()) << mode << hook;
  }
  EXPECT_THAT(reduction_reason("none", "", "cuda_graph"), HasSubstr("use reduce_last"));
}

TEST(Modes, AHookThatCannotWorkIsRefused) {
  for (const auto* precision : {"bf16_pure", "fp8"}) {
    const auto change = [&](Cell& cell) { cell.precision = precision; };
    EXPECT_THAT(reduction_reason("ddp", "bf16", "eager", change), HasSubstr("would compress nothing"));
    EXPECT_THAT(reduction_reason("ddp", "fp16", "eager", change), HasSubstr("would compress nothing"));
    EXPECT_THAT(reduction_reason("ddp", "top_k", "eager", change), IsEmpty());
  }
  const auto unused = [](Cell& cell) { cell.ddp.find_unused = true; };
  for (const auto* hook : {"fp8", "top_k", "top_k_fp8", "power_sgd"}) {
    EXPECT_THAT(reduction_reason("ddp", hook, "eager", unused, "cpu"), HasSubstr("order")) << hook;
    EXPECT_THAT(reduction_reason("ddp", hook, "eager", unused), IsEmpty()) << hook;
  }
  EXPECT_THAT(reduction_reason("ddp", "bf16", "eager", unused, "cpu"), IsEmpty());
  EXPECT_THAT(
      reduction_reason("optimizer_in_hook", "", "eager", [](Cell& cell) { cell.perturb.wrong = "skip_backward"; }),
      HasSubstr("skip_backward"));
}

TEST(Modes, Fp8IsForMatrixProducts) {
  auto cell = cell_of("eager");
  cell.precision = "fp8";
  EXPECT_THAT(unsupported_reason(cell), IsEmpty());
  cell.workload = {"resnet50", "resnet", {}};
  EXPECT_EQ(unsupported_reason(cell), "fp8 is for matrix products; resnet50 consists of convolutions");
}

TEST(Modes, CompiledAutogradIsForOneRank) {
  const auto asked = [](int ranks) {
    return reason_of(
        [=](Cell& cell) {
          cell.compile_options.compiled_autograd = true;
          cell.ddp.ranks = ranks;
        },
        "compile.default");
  };
  EXPECT_THAT(asked(1), IsEmpty());
  EXPECT_THAT(asked(2), HasSubstr("compiled autograd"));
}

TEST(CheckpointingOf, TakesEveryKnownValueApart) {
  using Policy = Checkpointing::Policy;
  EXPECT_EQ(checkpointing_of("none").policy, Policy::none);
  EXPECT_EQ(checkpointing_of("selective").policy, Policy::selective);
  EXPECT_EQ(checkpointing_of("full").policy, Policy::full);
  EXPECT_FALSE(checkpointing_of("full").reentrant);
  const auto third = checkpointing_of("every_3.reentrant");
  EXPECT_EQ(third.policy, Policy::every);
  EXPECT_EQ(third.every, 3);
  EXPECT_TRUE(third.reentrant);
  for (const auto& name : known_checkpointing()) {
    const auto parts = checkpointing_of(name);
    EXPECT_EQ(parts.reentrant, name.ends_with(".reentrant")) << name;
    EXPECT_EQ(parts.policy == Policy::every, name.starts_with("every_")) << name;
    EXPECT_EQ(parts.policy == Policy::none, name == "none") << name;
  }
}

TEST(ModeIdentity, OptionsAndCachesStandInTheIdAndChangeTheHash) {
  auto reference = cell_of("compile.default");
  reference.cache = "cold";
  assign_identity(reference);
  EXPECT_THAT(reference.id, HasSubstr("llama.tiny.b1/compile.default.cold/fp32/cuda.ddp1-"));
  const std::vector<std::pair<std::function<void(Cell&)>, std::string>> changes{
      {[](Cell& c) { c.cache = "warm"; }, "compile.default.warm"},
      {[](Cell& c) { c.compile_options.fullgraph = true; }, "+fullgraph.cold"},
      {[](Cell& c) { c.compile_options.dynamic = "off"; }, "+dynamic.off"},
      {[](Cell& c) { c.compile_options.ddp_optimizer = false; }, "+ddp_optimizer.off"},
      {[](Cell& c) { c.compile_options.compiled_autograd = true; }, "+compiled_autograd"},
      {[](Cell& c) { c.compile_options.compile_optimizer = true; }, "+optimizer"},
      {[](Cell& c) { c.checkpointing = "every_2"; }, "/ckpt.every_2"},
      {[](Cell& c) { c.ddp.wrapper = "reducer"; }, ".reducer"},
      {[](Cell& c) { c.perturb.wrong = "stale_input"; }, "PERTURBED.stale_input"}};
  for (const auto& [change, shown] : changes) {
    auto cell = reference;
    change(cell);
    assign_identity(cell);
    EXPECT_NE(cell.hash, reference.hash) << shown;
    EXPECT_THAT(cell.id, HasSubstr(shown));
    EXPECT_EQ(dump_line(to_json(cell_from_json(to_json(cell), "cell"))), dump_line(to_json(cell)));
  }
}

TEST(ModeIdentity, HowItIsComparedIsNotPartOfIt) {
  auto cell = cell_of("cuda_graph");
  assign_identity(cell);
  const auto hash = cell.hash;
  cell.measure.parity_steps = 0;
  cell.measure.graphs = cell.measure.ir_census = true;
  cell.limits.compile_s = 1;
  assign_identity(cell);
  EXPECT_EQ(cell.hash, hash);
}

}  // namespace
}  // namespace stepgauge
