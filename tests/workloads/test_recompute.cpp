// Activation checkpointing: if these fail, a cell with checkpointing trains something else, or saves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload_fixture.hpp"
#include "workloads/autocast.hpp"

namespace stepgauge::workloads {
namespace {

using testing::batch_of;
using testing::build;

nlohmann::json sizes_of_family(const std::string& family) {
  return family == "llama" ? testing::small_llama() : testing::small_resnet(18);
}

class Checkpointed : public ::testing::TestWithParam<std::string> {
 protected:
  struct Result {
    torch::Tensor loss;
    std::vector<torch::Tensor> gradients;
    std::int64_t recomputed = 0;
  };

  Result run(const RecomputePolicy& policy, std::optional<torch::Dtype> autocast = std::nullopt) {
    const auto workload = make_workload(GetParam(), sizes_of_family(GetParam()));
    const auto model = build(*workload, torch::kFloat, 3);
    model->train();
    model->recomputation().set_policy(policy);
    Result result;
    {
      const AutocastScope scope(torch::kCPU, autocast);
      result.loss = model->loss(batch_of(*workload, 4, torch::kFloat, 5));
    }
    result.loss.backward();
    for (const auto& parameter : model->parameters()) result.gradients.push_back(parameter.grad());
    result.recomputed = model->recomputation().recomputed();
    blocks_ = model->blocks();
    return result;
  }

  void expect_same(const Result& value, const Result& expected) {
    EXPECT_TRUE(torch::equal(value.loss, expected.loss));
    ASSERT_EQ(value.gradients.size(), expected.gradients.size());
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      ASSERT_TRUE(value.gradients[i].defined()) << i;
      EXPECT_TRUE(torch::allclose(value.gradients[i], expected.gradients[i], 1e-4, 1e-6)) << i;
    }
  }

  std::size_t blocks_ = 0;
};

TEST_P(Checkpointed, EveryPolicyHasTheGradientsOfNone) {
  const auto expected = run({});
  EXPECT_EQ(expected.recomputed, 0);
  for (const bool reentrant : {false, true}) {
    const auto full = run({1, reentrant});
    expect_same(full, expected);
    EXPECT_EQ(full.recomputed, static_cast<std::int64_t>(blocks_));
    const auto second = run({2, reentrant});
    expect_same(second, expected);
    EXPECT_EQ(second.recomputed, static_cast<std::int64_t>(blocks_ / 2));
  }
}

TEST_P(Checkpointed, RecomputationHappensUnderTheAutocastOfTheForwardPass) {
  expect_same(run({1, false}, torch::kBFloat16), run({}, torch::kBFloat16));
  expect_same(run({1, true}, torch::kBFloat16), run({}, torch::kBFloat16));
}

INSTANTIATE_TEST_SUITE_P(Families, Checkpointed, ::testing::Values("llama", "resnet"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stepgauge::workloads
