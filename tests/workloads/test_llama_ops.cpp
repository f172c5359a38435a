// The custom autograd functions against plain formulas that torch differentiates itself, in double precision.
// If these fail, the llama workload trains another model than it says, however fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload_fixture.hpp"
#include "workloads/llama/ops.hpp"

namespace stepgauge::workloads::llama {
namespace {

using Inputs = std::vector<torch::Tensor>;

torch::Tensor leaf(at::IntArrayRef shape, uint64_t seed, double scale = 1.0) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return (at::randn(shape, generator, torch::kDouble) * scale).requires_grad_(true);
}

/// Values and gradients (for a random output gradient) of `ours` and `plain` agree to `tolerance` of the
/// largest.
template <class Ours, class Plain>
void expect_same_with_gradients(const Inputs& inputs, Ours ours, Plain plain, double tolerance = 1e-12) {
  const auto got = ours(inputs), want = plain(inputs);
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_LT((got - want).abs().max().template item<double>(), tolerance);
  const auto seed = leaf(want.sizes(), 99).detach();
  const auto got_grads = torch::autograd::grad({got}, inputs, {seed}, /*retain_graph=*/true);
  const auto want_grads = torch::autograd::grad({want}, inputs, {seed});
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double scale = want_grads[i].abs().max().template item<double>();
    EXPECT_GT(scale, 0.0);
    EXPECT_LT((got_grads[i] - want_grads[i]).abs().max().template item<double>(), tolerance * (1 + scale)) << i;
  }
  const auto again = torch::autograd::grad({got}, inputs, {seed});
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(torch::equal(again[i], got_grads[i])) << i;
}

/// transformers' apply_rotary_pos_emb for x [batch, sequence, heads, dim].
torch::Tensor plain_rotate(const torch::Tensor& x, double theta) {
  const int64_t dim = x.size(3);
  const auto frequency = 1.0 / torch::pow(theta, torch::arange(0, dim, 2, torch::kDouble) / double(dim));
  const auto angle = torch::outer(torch::arange(x.size(1), torch::kDouble), frequency);
  const auto both = torch::cat({angle, angle}, 1).view({1, x.size(1), 1, dim});
  const auto halves = x.chunk(2, -1);
  return x * both.cos() + torch::cat({-halves[1], halves[0]}, -1) * both.sin();
}

TEST(Rotate, EqualsThePlainFormula) {
  const auto table = rotary_table(7, 6, 100.0, torch::kCPU, torch::kDouble);
  expect_same_with_gradients(
      {leaf({2, 7, 3, 6}, 1)}, [&](const Inputs& in) { return rotate(in[0], table); },
      [](const Inputs& in) { return plain_rotate(in[0], 100.0); });
}

TEST(Rotate, TakesTransposedInputs) {
  const auto table = rotary_table(7, 6, 100.0, torch::kCPU, torch::kDouble);
  expect_same_with_gradients(
      {leaf({2, 3, 7, 6}, 1)}, [&](const Inputs& in) { return rotate(in[0].transpose(1, 2), table); },
      [](const Inputs& in) { return plain_rotate(in[0].transpose(1, 2), 100.0); });
}

TEST(Rotate, LeavesItsInputAlone) {
  const auto table = rotary_table(4, 4, 100.0, torch::kCPU, torch::kDouble);
  const auto x = leaf({1, 4, 1, 4}, 1);
  const auto before = x.detach().clone();
  rotate(x, table);
  EXPECT_TRUE(torch::equal(x, before));
}

TEST(RotaryTable, IsComputedInFp32ForHalfPrecision) {
  const auto table = rotary_table(2048, 64, 10000.0, torch::kCPU, torch::kBFloat16);
  const auto exact = rotary_table(2048, 64, 10000.0, torch::kCPU, torch::kDouble);
  EXPECT_EQ(table.cos.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(table.cos.sizes(), (std::vector<int64_t>{2048, 1, 64}));
  EXPECT_EQ(table.sin.sizes(), (std::vector<int64_t>{2048, 1, 32}));
  EXPECT_LT((table.cos.to(torch::kDouble) - exact.cos).abs().max().item<double>(), 0.003);
}

TEST(SwiGlu, EqualsThePlainFormula) {
  expect_same_with_gradients(
      {leaf({3, 5, 8}, 1, 3.0), leaf({3, 5, 8}, 2)}, [](const Inputs& in) { return swiglu(in[0], in[1]); },
      [](const Inputs& in) { return in[0] * torch::sigmoid(in[0]) * in[1]; });
}

TEST(CrossEntropy, EqualsThePlainFormula) {
  const auto target = torch::tensor({3, 0, 7, 7, 1}, torch::kLong);
  expect_same_with_gradients(
      {leaf({5, 8}, 1, 4.0)}, [&](const Inputs& in) { return cross_entropy(in[0], target); },
      [&](const Inputs& in) {
        const auto picked = in[0].gather(1, target.unsqueeze(1)).squeeze(1);
        return (torch::logsumexp(in[0], 1) - picked).mean();
      });
}

TEST(CrossEntropy, OfBf16LogitsIsExactToOneRoundingOfTheGradient) {
  const auto logits = leaf({64, 500}, 1, 4.0).detach().to(torch::kBFloat16).requires_grad_(true);
  const auto exact = logits.detach().to(torch::kDouble).requires_grad_(true);
  const auto target = at::randint(0, 500, {64}, at::make_generator<at::CPUGeneratorImpl>(3), torch::kLong);
  const auto loss = cross_entropy(logits, target), exact_loss = torch::nn::functional::cross_entropy(exact, target);
  EXPECT_EQ(loss.scalar_type(), torch::kFloat);
  EXPECT_NEAR(loss.item<double>(), exact_loss.item<double>(), 1e-5);
  loss.backward();
  exact_loss.backward();
  EXPECT_EQ(logits.grad().scalar_type(), torch::kBFloat16);
  // Two bf16 roundings (2^-8 each) away from the target, one at it.
  const auto error = (logits.grad().to(torch::kDouble) - exact.grad()).abs();
  EXPECT_TRUE((error <= exact.grad().abs() * 0.0079 + 1e-12).all().item<bool>());
}

TEST(CausalAttention, OfGroupedHeadsEqualsTheExpandedOne) {
  const int64_t groups = 3;
  const auto plain = [&](const Inputs& in) {
    const auto heads = [](const torch::Tensor& x) { return x.transpose(1, 2); };
    const auto k = heads(in[1]).repeat_interleave(groups, 1), v = heads(in[2]).repeat_interleave(groups, 1);
    auto scores = torch::matmul(heads(in[0]), k.transpose(2, 3)) / std::sqrt(4.0);
    scores = scores.masked_fill(torch::ones({5, 5}, torch::kBool).triu(1), -INFINITY);
    return torch::matmul(torch::softmax(scores, -1), v).transpose(1, 2).flatten(2);
  };
  expect_same_with_gradients(
      {leaf({2, 5, 6, 4}, 1), leaf({2, 5, 2, 4}, 2), leaf({2, 5, 2, 4}, 3)},
      [](const Inputs& in) { return causal_attention(in[0], in[1], in[2]); }, plain);
}

}  // namespace
}  // namespace stepgauge::workloads::llama
