// The judgement over two trajectories: if these fail, a mode that computes something else is called ok, or an honest
// one is thrown away.
#include "worker/parity/parity.hpp"

#include <gmock/gmock.h>

namespace stepgauge::worker {
namespace {

using ::testing::HasSubstr;

Trajectory reference() {
  return {
      {2.3, 2.2, 2.1}, 1.5, {{"a.weight", {1, -2, 3, 4}, {-0.1, 0.2, -0.3, -0.4}}, {"b.bias", {2, 1}, {-0.2, -0.1}}}};
}

/// Everything longer by a share.
Trajectory scaled(double factor) {
  auto out = reference();
  for (auto& loss : out.losses) loss *= factor;
  out.gradient_norm *= factor;
  for (auto& sample : out.samples) {
    for (auto* part : {&sample.gradient, &sample.update}) {
      for (auto& value : *part) value *= factor;
    }
  }
  return out;
}

TEST(Parity, TheSameAgreesAndEveryPartIsCompared) {
  const auto out = compare_trajectories(reference(), reference(), reference(), "fp32");
  EXPECT_TRUE(out.at("agrees").get<bool>());
  EXPECT_FALSE(out.contains("first_difference"));
  EXPECT_EQ(out.at("gradients").at("compared"), 2);
  EXPECT_EQ(out.at("gradients").at("telling"), 2);
  EXPECT_EQ(out.at("loss").at("error"), 0);
}

TEST(Parity, ThreeTimesTheSpreadOfEagerIsAllowed) {
  EXPECT_TRUE(compare_trajectories(scaled(1.05), scaled(1.02), reference(), "fp32").at("agrees").get<bool>());
  EXPECT_FALSE(compare_trajectories(scaled(1.10), scaled(1.02), reference(), "fp32").at("agrees").get<bool>());
  EXPECT_FALSE(compare_trajectories(scaled(1.05), reference(), reference(), "fp32").at("agrees").get<bool>());
}

TEST(Parity, StepsThatThrowTheLossAboutAreAllowedTheRoundingThatTheyAmplify) {
  auto expected = reference();
  expected.losses = {2, 10, 20};
  auto value = expected;
  value.losses[2] = 20.4;                                // 2 % where the loss has moved by 90 % of itself
  value.samples[0].update = {-0.105, 0.21, -0.3, -0.4};  // 2 %
  EXPECT_TRUE(compare_trajectories(value, expected, expected, "fp32").at("agrees").get<bool>());
  value.losses[0] = 2.01;
  EXPECT_FALSE(compare_trajectories(value, expected, expected, "fp32").at("agrees").get<bool>())
      << "the first loss comes before any step";
}

TEST(Parity, AWrongLossNamesItsStep) {
  auto value = reference();
  value.losses[1] = 2.9;
  const auto out = compare_trajectories(value, reference(), reference(), "bf16");
  EXPECT_FALSE(out.at("agrees").get<bool>());
  EXPECT_THAT(out.at("first_difference").get<std::string>(), HasSubstr("step 1: loss 2.9, the reference has 2.2"));
}

TEST(Parity, AWrongGradientNamesItsParameterAndComesBeforeLaterLosses) {
  auto value = reference();
  value.samples[1].gradient = {0, 0};
  value.losses[2] = 9;
  const auto out = compare_trajectories(value, reference(), reference(), "bf16");
  EXPECT_FALSE(out.at("agrees").get<bool>());
  EXPECT_THAT(out.at("first_difference").get<std::string>(), HasSubstr("step 0: gradient of parameter b.bias"));
  EXPECT_EQ(out.at("gradients").at("worst"), "b.bias");
}

TEST(Parity, AnUpdateThatDidNotHappenIsFound) {
  auto value = reference();
  value.samples[0].update = {0, 0, 0, 0};
  const auto out = compare_trajectories(value, reference(), reference(), "bf16_pure");
  EXPECT_FALSE(out.at("agrees").get<bool>());
  EXPECT_THAT(out.at("first_difference").get<std::string>(), HasSubstr("update of parameter a.weight"));
}

TEST(Parity, APrecisionWhoseOwnErrorHidesEverythingSaysSo) {
  const auto out = compare_trajectories(scaled(1.4), scaled(1.5), reference(), "bf16");
  EXPECT_TRUE(out.at("agrees").get<bool>());
  EXPECT_EQ(out.at("parameters").at("telling"), 0) << "an update of zero would have passed too";
}

TEST(Parity, NumbersThatAreNotFiniteNeverAgreeAndNeverReachTheRecord) {
  auto value = reference();
  value.losses[0] = std::nan("");
  value.gradient_norm = HUGE_VAL;
  value.samples[0].gradient[2] = std::nan("");
  const auto out = compare_trajectories(value, reference(), reference(), "fp32");
  EXPECT_FALSE(out.at("agrees").get<bool>());
  EXPECT_TRUE(out.at("loss").at("values").at(0).is_null());
  EXPECT_TRUE(out.at("gradient_norm").at("value").is_null());
  EXPECT_NO_THROW(dump_line(out));
}

TEST(Parity, AParameterWhoseGradientIsNearlyZeroIsNotJudged) {
  auto expected = reference();
  expected.samples.push_back({"dead.bias", {1e-9, -1e-9}, {1e-10, 0}});
  auto value = expected;
  value.samples.back().gradient = {5e-9, 5e-9};
  const auto out = compare_trajectories(value, expected, expected, "fp32");
  EXPECT_TRUE(out.at("agrees").get<bool>()) << out.dump();
  EXPECT_EQ(out.at("gradients").at("compared"), 2);
}

}  // namespace
}  // namespace stepgauge::worker
