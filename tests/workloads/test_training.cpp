// Losses: if these fail, a step that is timed isn't a training step of this model.
#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload_fixture.hpp"

namespace stepgauge::workloads {
namespace {

using testing::batch_of;
using testing::build;
using testing::train;

/// bf16 autocast on the CPU while it lives.
class AutocastGuard {
 public:
  AutocastGuard() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~AutocastGuard() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;
};

struct Small {
  std::string name, family;
  nlohmann::json (*sizes)();
  double rate;
  double autocast_tolerance;  ///< relative, of the loss

  friend void PrintTo(const Small& small, std::ostream* out) { *out << small.name; }
};

class SmallModel : public ::testing::TestWithParam<Small> {
 protected:
  std::unique_ptr<Workload> workload_ = make_workload(GetParam().family, GetParam().sizes());

  /// Loss and gradients of one forward and backward pass from seed 1.
  std::pair<double, std::vector<torch::Tensor>> gradients(bool autocast) const {
    const auto model = build(*workload_, torch::kFloat, 1);
    const auto batch = batch_of(*workload_, 4, torch::kFloat, 2);
    torch::Tensor loss;
    if (autocast) {
      AutocastGuard guard;
      loss = model->loss(batch);
    } else {
      loss = model->loss(batch);
    }
    EXPECT_EQ(loss.scalar_type(), torch::kFloat);
    loss.backward();
    std::vector<torch::Tensor> grads;
    for (const auto& parameter : model->parameters()) grads.push_back(parameter.grad());
    return {loss.item<double>(), grads};
  }
};

TEST_P(SmallModel, LearnsOneBatch) {
  const auto losses = train(*workload_, torch::kFloat, 1, 12, GetParam().rate);
  const auto sizes = GetParam().sizes();
  const double chance = std::log(sizes.value("classes", sizes.value("vocab", 1.0)));
  EXPECT_NEAR(losses.front(), chance, 0.6 * chance);
  EXPECT_LT(losses.back(), 0.8 * losses.front());
}

TEST_P(SmallModel, RepeatsItsLossesFromTheSameSeedOnly) {
  const auto losses = train(*workload_, torch::kFloat, 1, 3, GetParam().rate);
  EXPECT_EQ(train(*workload_, torch::kFloat, 1, 3, GetParam().rate), losses);
  EXPECT_NE(train(*workload_, torch::kFloat, 2, 3, GetParam().rate), losses);
}

TEST_P(SmallModel, DoesNotTouchTheGlobalGenerator) {
  torch::manual_seed(7);
  const auto before = at::globalContext().defaultGenerator(at::kCPU).get_state();
  build(*workload_, torch::kFloat, 1);
  batch_of(*workload_, 2, torch::kFloat, 1);
  EXPECT_TRUE(torch::equal(before, at::globalContext().defaultGenerator(at::kCPU).get_state()));
}

TEST_P(SmallModel, LearnsInPureBf16) {
  const auto losses = train(*workload_, torch::kBFloat16, 1, 12, GetParam().rate);
  EXPECT_LT(losses.back(), 0.85 * losses.front());
  const auto model = build(*workload_, torch::kBFloat16, 1);
  const auto loss = model->loss(batch_of(*workload_, 4, torch::kBFloat16, 2));
  EXPECT_EQ(loss.scalar_type(), torch::kFloat);
  for (const auto& buffer : model->buffers()) EXPECT_NE(buffer.scalar_type(), torch::kBFloat16);
}

TEST_P(SmallModel, AutocastIsCloseToFp32) {
  const auto [loss, grads] = gradients(false);
  const auto [cast_loss, cast_grads] = gradients(true);
  EXPECT_NEAR(cast_loss, loss, GetParam().autocast_tolerance * loss);
  EXPECT_NE(cast_loss, loss);
  for (size_t i = 0; i < grads.size(); ++i) {
    EXPECT_EQ(cast_grads[i].scalar_type(), torch::kFloat);
    EXPECT_TRUE(at::isfinite(cast_grads[i]).all().item<bool>());
    // An untrained small ResNet's gradients move by as much as their size in torchvision under autocast too.
    if (GetParam().family == "llama") {
      EXPECT_LT((cast_grads[i] - grads[i]).norm().item<double>(), 0.05 * grads[i].norm().item<double>()) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , SmallModel,
    ::testing::Values(Small{"resnet18", "resnet", [] { return testing::small_resnet(18); }, 0.05, 0.1},
                      Small{"resnet50", "resnet", [] { return testing::small_resnet(50); }, 0.05, 0.1},
                      Small{"llama", "llama", &testing::small_llama, 0.5, 1e-3}),
    [](const auto& info) { return info.param.name; });

TEST(ResNet, ChannelsLastGivesTheSameLoss) {
  const auto workload = make_workload("resnet", testing::small_resnet(50));
  const auto batch = batch_of(*workload, 4, torch::kFloat, 2);
  const auto plain = build(*workload, torch::kFloat, 1)->loss(batch).item<double>();
  const auto model = build(*workload, torch::kFloat, 1);
  torch::NoGradGuard no_grad;
  for (auto& parameter : model->parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
  const auto input = batch.input.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_NEAR(model->loss({input, batch.target}).item<double>(), plain, 1e-5 * plain);
}

TEST(ResNet, UpdatesRunningStatisticsInTrainingOnly) {
  const auto workload = make_workload("resnet", testing::small_resnet(18));
  const auto model = build(*workload, torch::kFloat, 1);
  const auto batch = batch_of(*workload, 4, torch::kFloat, 2);
  const auto state = [&] { return model->named_buffers()["layer4.1.bn2.running_mean"].clone(); };
  const auto counter = [&] { return model->named_buffers()["layer4.1.bn2.num_batches_tracked"].item<int64_t>(); };
  const auto before = state();
  model->loss(batch);
  const auto after = state();
  EXPECT_FALSE(torch::equal(before, after));
  EXPECT_EQ(counter(), 1);
  model->eval();
  model->loss(batch);
  EXPECT_TRUE(torch::equal(after, state()));
  EXPECT_EQ(counter(), 1);
}

// Changing only the first target changes the loss by what the first token's logits say: they must be those of
// a sequence of one token.
TEST(Llama, LooksAtNoLaterToken) {
  const auto workload = make_workload("llama", testing::small_llama());
  const auto model = build(*workload, torch::kDouble, 1);
  const auto batch = batch_of(*workload, 1, torch::kDouble, 2);
  const auto first_token_difference = [&](int64_t sequence) {
    const auto input = batch.input.slice(1, 0, sequence);
    const auto target = batch.target.slice(1, 0, sequence);
    auto other = target.clone();
    other[0][0] = (target[0][0].item<int64_t>() + 1) % 256;
    const auto difference = model->loss({input, target}) - model->loss({input, other});
    return difference.item<double>() * static_cast<double>(sequence);
  };
  EXPECT_GT(std::abs(first_token_difference(1)), 1e-3);
  EXPECT_NEAR(first_token_difference(16), first_token_difference(1), 1e-10);
}

}  // namespace
}  // namespace stepgauge::workloads
