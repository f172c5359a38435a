// A wrong count here means that published throughput and MFU of this model can't be compared with ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload_fixture.hpp"

namespace stepgauge::workloads {
namespace {

using testing::sizes_of;

int64_t parameter_count(const Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

struct Known {
  std::string family, preset;
  int64_t parameters;
};

class ParameterCount : public ::testing::TestWithParam<Known> {};

TEST_P(ParameterCount, IsThePublishedOne) {
  const auto& known = GetParam();
  const auto workload = make_workload(known.family, sizes_of(known.family, known.preset));
  const auto model = workload->build(torch::TensorOptions().device(torch::kMeta), {});
  EXPECT_EQ(parameter_count(*model), known.parameters);
  for (const auto& parameter : model->parameters()) {
    EXPECT_TRUE(parameter.is_meta());
    EXPECT_TRUE(parameter.requires_grad());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Presets, ParameterCount,
    ::testing::Values(Known{"resnet", "resnet18", 11'689'512}, Known{"resnet", "resnet34", 21'797'672},
                      Known{"resnet", "resnet50", 25'557'032}, Known{"resnet", "resnet101", 44'549'160},
                      Known{"resnet", "resnet152", 60'192'808}, Known{"llama", "llama.1.1b", 1'100'048'384},
                      Known{"llama", "llama.7b", 6'738'415'616}));

struct KnownMacs {
  std::string preset;
  double giga_macs;  ///< forward, 224 pixels, as listed with torchvision's weights
};

class ResNetFlops : public ::testing::TestWithParam<KnownMacs> {};

TEST_P(ResNetFlops, AreSixTimesThePublishedMultiplyAdds) {
  const auto workload = make_workload("resnet", sizes_of("resnet", GetParam().preset));
  EXPECT_NEAR(workload->flops(1).per_step / 6e9, GetParam().giga_macs, 0.001);
  EXPECT_DOUBLE_EQ(workload->flops(32).per_step, 32 * workload->flops(1).per_step);
  EXPECT_THAT(workload->flops(1).formula, ::testing::HasSubstr("3 x forward"));
}

INSTANTIATE_TEST_SUITE_P(Presets, ResNetFlops,
                         ::testing::Values(KnownMacs{"resnet18", 1.814}, KnownMacs{"resnet34", 3.664},
                                           KnownMacs{"resnet50", 4.089}, KnownMacs{"resnet101", 7.801},
                                           KnownMacs{"resnet152", 11.514}));

TEST(LlamaFlops, FollowPaLM) {
  const auto workload = make_workload("llama", sizes_of("llama", "llama.1.1b"));
  // All parameters less the embedding table and 45 norms; then 12 L H S.
  const double matmul = 1'100'048'384.0 - 32000.0 * 2048.0 - 45.0 * 2048.0;
  const double tokens = 8.0 * 2048.0;
  EXPECT_DOUBLE_EQ(workload->flops(8).per_step, (6 * matmul + 12.0 * 22 * 2048 * 2048) * tokens);
  EXPECT_THAT(workload->flops(8).formula, ::testing::HasSubstr("not halved"));
}

TEST(Workload, CountsItsWork) {
  const auto resnet = make_workload("resnet", testing::small_resnet(18));
  EXPECT_EQ(resnet->work_per_step(8), 8);
  EXPECT_EQ(resnet->work_unit(), "samples");
  const auto llama = make_workload("llama", testing::small_llama());
  EXPECT_EQ(llama->work_per_step(8), 8 * 16);
  EXPECT_EQ(llama->work_unit(), "tokens");
}

TEST(MakeBatch, ResNetDrawsImagesInTheAskedTypeAndClassesInRange) {
  const auto workload = make_workload("resnet", testing::small_resnet(18));
  const auto batch = testing::batch_of(*workload, 64, torch::kBFloat16, 3);
  EXPECT_EQ(batch.input.sizes(), (std::vector<int64_t>{64, 3, 64, 64}));
  EXPECT_EQ(batch.input.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(batch.target.sizes(), std::vector<int64_t>{64});
  EXPECT_EQ(batch.target.min().item<int64_t>(), 0);
  EXPECT_EQ(batch.target.max().item<int64_t>(), 4);
  EXPECT_TRUE(torch::equal(batch.input, testing::batch_of(*workload, 64, torch::kBFloat16, 3).input));
  EXPECT_FALSE(torch::equal(batch.input, testing::batch_of(*workload, 64, torch::kBFloat16, 4).input));
}

TEST(MakeBatch, LlamaTargetIsTheNextToken) {
  const auto workload = make_workload("llama", testing::small_llama());
  const auto batch = testing::batch_of(*workload, 4, torch::kFloat, 3);
  EXPECT_EQ(batch.input.sizes(), (std::vector<int64_t>{4, 16}));
  EXPECT_EQ(batch.input.scalar_type(), torch::kLong);
  EXPECT_TRUE(batch.target.is_contiguous());
  EXPECT_TRUE(torch::equal(batch.input.slice(1, 1), batch.target.slice(1, 0, 15)));
  EXPECT_FALSE(torch::equal(batch.input, batch.target));
}

TEST(ResNetInit, FollowsTorchvision) {
  const auto workload = make_workload("resnet", sizes_of("resnet", "resnet18"));
  const auto model = testing::build(*workload, torch::kFloat, 1);
  const auto parameters = model->named_parameters();
  const auto& conv = parameters["layer3.0.conv2.weight"];
  EXPECT_NEAR(conv.std().item<double>(), std::sqrt(2.0 / (9 * 256)), 2e-4);
  EXPECT_NEAR(conv.mean().item<double>(), 0.0, 2e-4);
  EXPECT_TRUE(torch::equal(parameters["bn1.weight"], torch::ones(64)));
  const double bound = 1.0 / std::sqrt(512.0);
  for (const auto* name : {"fc.weight", "fc.bias"}) {
    EXPECT_LE(parameters[name].abs().max().item<double>(), bound);
    EXPECT_GT(parameters[name].abs().max().item<double>(), 0.98 * bound);
  }
}

TEST(LlamaInit, FollowsTransformers) {
  const auto workload = make_workload("llama", testing::small_llama());
  const auto parameters = testing::build(*workload, torch::kFloat, 1)->named_parameters();
  for (const auto& item : parameters) {
    if (item.key().find("norm") != std::string::npos) {
      EXPECT_TRUE(torch::equal(item.value(), torch::ones(64))) << item.key();
    } else {
      EXPECT_NEAR(item.value().std().item<double>(), 0.02, 0.001) << item.key();
    }
  }
}

void expect_refused(const std::string& family, const nlohmann::json& sizes, const std::string& reason) {
  try {
    make_workload(family, sizes);
    ADD_FAILURE() << family << " accepted " << sizes;
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(reason));
  }
}

TEST(InvalidSizes, AreRefusedByName) {
  const auto llama = [](const nlohmann::json& change) { return sizes_of("llama", "llama.tiny", change); };
  expect_refused("llama", llama({{"heads", 6}, {"kv_heads", 3}}), "heads (6) do not divide hidden (64)");
  expect_refused("llama", llama({{"kv_heads", 3}}), "kv_heads (3) do not divide heads (4)");
  expect_refused("llama", llama({{"hidden", 60}}), "even head size");
  expect_refused("llama", llama({{"layers", 0}}), "'layers' is 0");
  expect_refused("llama", llama({{"vocab", "many"}}), "'vocab' is not an integer");
  expect_refused("llama", nlohmann::json::object(), "'layers' is missing");
  expect_refused("resnet", testing::small_resnet(20), "no depth 20");
  expect_refused("resnet", sizes_of("resnet", "resnet18", {{"image", 7}}), "'image' is 7, less than 8");
  expect_refused("resnet", sizes_of("resnet", ""), "'depth' is missing");
  expect_refused("mamba", nlohmann::json::object(), "known: llama, resnet");
}

TEST(SmallestImage, Trains) {
  const auto workload =
      make_workload("resnet", sizes_of("resnet", "resnet50", {{"image", 8}, {"width", 4}, {"classes", 2}}));
  EXPECT_TRUE(std::isfinite(testing::train(*workload, torch::kFloat, 1, 1, 0.1).back()));
}

}  // namespace
}  // namespace stepgauge::workloads
