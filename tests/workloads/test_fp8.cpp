// fp8 products: if these fail, an fp8 cell trains on numbers that have little to do with its weights.
#include <gtest/gtest.h>

#include "workloads/fp8.hpp"

namespace stepgauge::workloads {
namespace {

class Fp8 : public ::testing::TestWithParam<Fp8Scaling::Recipe> {
 protected:
  void SetUp() override { torch::manual_seed(7); }
  std::shared_ptr<Fp8Scaling> scaling_ = std::make_shared<Fp8Scaling>(GetParam(), torch::kCPU);
};

double distance(const torch::Tensor& value, const torch::Tensor& expected) {
  return ((value - expected).to(torch::kDouble).norm() / expected.to(torch::kDouble).norm()).item<double>();
}

/// Twice over the tensors, so that delayed scales have a past; the second time counts.
TEST_P(Fp8, ProductAndBothGradientsAreThoseOfTheFullPrecisionProduct) {
  const auto x = torch::randn({2, 32, 64}).mul_(30).to(torch::kBFloat16).requires_grad_();
  const auto weight = torch::randn({48, 64}).mul_(0.02).to(torch::kBFloat16).requires_grad_();
  const auto out_gradient = torch::randn({2, 32, 48}).mul_(1e-3).to(torch::kBFloat16);
  torch::Tensor out;
  for (int i = 0; i < 2; ++i) {
    x.mutable_grad().reset();
    weight.mutable_grad().reset();
    out = fp8_linear(x, weight, scaling_);
    out.backward(out_gradient);
  }
  EXPECT_EQ(out.scalar_type(), torch::kBFloat16);
  const auto exact_x = x.detach().to(torch::kDouble).requires_grad_();
  const auto exact_weight = weight.detach().to(torch::kDouble).requires_grad_();
  const auto exact = at::linear(exact_x, exact_weight);
  exact.backward(out_gradient.to(torch::kDouble));
  // e4m3 rounds by up to 1/16, e5m2 by up to 1/8; over 32 and more terms it averages out to about half of that.
  EXPECT_LT(distance(out.detach(), exact.detach()), 0.05);
  EXPECT_LT(distance(x.grad(), exact_x.grad()), 0.08);
  EXPECT_LT(distance(weight.grad(), exact_weight.grad()), 0.08);
  EXPECT_GT(distance(out.detach(), exact.detach()), 0.002) << "this was not computed in fp8";
}

TEST_P(Fp8, ZerosStayZeros) {
  const auto x = torch::zeros({16, 32}, torch::kBFloat16).requires_grad_();
  const auto weight = torch::randn({16, 32}).to(torch::kBFloat16).requires_grad_();
  const auto out = fp8_linear(x, weight, scaling_);
  out.sum().backward();
  EXPECT_EQ(out.abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Recipes, Fp8, ::testing::Values(Fp8Scaling::Recipe::dynamic, Fp8Scaling::Recipe::delayed),
                         [](const auto& info) {
                           return info.param == Fp8Scaling::Recipe::dynamic ? "dynamic" : "delayed";
                         });

TEST(Fp8Delayed, TheScaleIsThatOfTheLargestOfThePastAndTheHistoryEnds) {
  Fp8Scaling scaling(Fp8Scaling::Recipe::delayed, torch::kCPU);
  const auto factor = [&](double value) {
    return scaling.factor(Fp8Scaling::input, torch::full({4}, value), 448).item<double>();
  };
  EXPECT_DOUBLE_EQ(factor(2), 224) << "without a past, its own";
  EXPECT_DOUBLE_EQ(factor(8), 224) << "the past was 2";
  EXPECT_DOUBLE_EQ(factor(1), 56) << "the past has an 8";
  for (int i = 0; i < Fp8Scaling::history_length; ++i) factor(1);
  EXPECT_DOUBLE_EQ(factor(1), 448) << "the 8 is forgotten";
  scaling.restart();
  EXPECT_DOUBLE_EQ(factor(4), 112);
}

}  // namespace
}  // namespace stepgauge::workloads
