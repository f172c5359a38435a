// Every compression hook against a plain implementation, on ranks that are threads: if these fail, a compressed run
// trains on other gradients than its name says.
#include "worker/parallel/hooks/gradient_hook.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "thread_group.hpp"
#include "worker/data_source.hpp"
#include "worker/device.hpp"
#include "worker/parallel/overlap.hpp"
#include "worker/parallel/recording_backend.hpp"

namespace stepgauge::worker {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<torch::Tensor>;

constexpr int ranks = 2;

CellDdp asking_for(const std::string& hook, double share = 0.2, int rank = 1, bool feedback = true) {
  CellDdp out;
  out.ranks = ranks;
  out.hook = hook;
  out.hook_share = share;
  out.hook_rank = rank;
  out.error_feedback = feedback;
  return out;
}

/// Odd sizes, a matrix and more than two dimensions.
Tensors make_parameters(torch::Dtype type = torch::kFloat32) {
  Tensors out;
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{5}, {9, 7}, {4, 3, 5}})
    out.push_back(torch::zeros(shape, type).set_requires_grad(true));
  return out;
}

/// Gradients of a rank in a step, by parameter.
Tensors make_gradients(const Tensors& parameters, int rank, int step) {
  auto generator = make_generator(torch::kCPU, static_cast<std::uint64_t>(100 * step + rank + 1));
  Tensors out;
  for (const auto& parameter : parameters)
    out.push_back(torch::randn(parameter.sizes(), generator).to(parameter.scalar_type()));
  return out;
}

torch::Tensor flat_of(const Tensors& tensors) {
  Tensors parts;
  for (const auto& tensor : tensors) parts.push_back(tensor.flatten());
  return at::cat(parts);
}

c10d::GradBucket bucket_of(std::size_t index, std::size_t count, const torch::Tensor& flat, const Tensors& parameters) {
  std::vector<std::size_t> offsets, lengths;
  std::vector<c10::IntArrayRef> sizes;
  std::size_t offset = 0;
  for (const auto& parameter : parameters) {
    offsets.push_back(offset);
    lengths.push_back(static_cast<std::size_t>(parameter.numel()));
    sizes.push_back(parameter.sizes());
    offset += lengths.back();
  }
  return c10d::GradBucket(index, count, flat, offsets, lengths, sizes, parameters, std::nullopt);
}

/// One rank's hook with its own parameters, and a count of what it sends.
struct RankHook {
  RankHook(const CellDdp& options, const c10::intrusive_ptr<c10d::Backend>& backend,
           torch::Dtype type = torch::kFloat32)
      : rank(backend->getRank()),
        parameters(make_parameters(type)),
        counted(c10::make_intrusive<RecordingBackend>(backend, log, false)),
        hook(make_gradient_hook(options, group_over(counted), parameters)) {}

  /// The bucket of `chosen` parameters after the hook.
  torch::Tensor reduce(const std::vector<std::size_t>& chosen, const Tensors& gradients) {
    Tensors own, values;
    for (const auto i : chosen) {
      own.push_back(parameters[i]);
      values.push_back(gradients[i]);
    }
    auto bucket = bucket_of(0, 1, flat_of(values), own);
    const auto done = hook->runHook(bucket);
    done->waitAndThrow();
    return hook->parseHookResult(done->value());
  }
  torch::Tensor reduce_all(int step) { return reduce({0, 1, 2}, make_gradients(parameters, rank, step)); }
  TrafficByKind traffic() const { return counted->traffic().now(); }

  int rank;
  Tensors parameters;
  TraceLog log;
  c10::intrusive_ptr<RecordingBackend> counted;
  std::unique_ptr<GradientHook> hook;
};

/// What every rank has after `work`; the same bits on all of them.
torch::Tensor same_on_all(const CellDdp& options, torch::Dtype type,
                          const std::function<torch::Tensor(RankHook&)>& work) {
  Tensors out(ranks);
  run_ranks(ranks, [&](int rank, const auto& backend) {
    RankHook hook(options, backend, type);
    out[static_cast<std::size_t>(rank)] = work(hook).clone();
  });
  EXPECT_TRUE(torch::equal(out[0], out[1])) << options.hook << ": the ranks have different gradients";
  return out[0];
}

torch::Tensor exact_mean(int step, torch::Dtype type = torch::kFloat32) {
  auto sum = torch::zeros({128}, torch::kFloat64);
  for (int rank = 0; rank < ranks; ++rank)
    sum += flat_of(make_gradients(make_parameters(type), rank, step)).to(torch::kFloat64);
  return sum / ranks;
}

double distance(const torch::Tensor& value, const torch::Tensor& reference) {
  return ((value.to(torch::kFloat64) - reference).norm() / reference.norm()).item<double>();
}

TEST(Hooks, TheMeanOfEveryTypeIsAsNearAsTheWireAllows) {
  const std::vector<std::pair<std::string, double>> bounds{{"", 1e-7}, {"bf16", 6e-3}, {"fp16", 1e-3}, {"fp8", 6e-2}};
  for (const auto& [hook, bound] : bounds) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kHalf}) {
      const auto mean = same_on_all(asking_for(hook), type, [](RankHook& rank) { return rank.reduce_all(1); });
      EXPECT_EQ(mean.scalar_type(), type);
      EXPECT_LT(distance(mean, exact_mean(1, type)), bound + (type == torch::kFloat32 ? 0 : 6e-3)) << hook;
    }
  }
}

TEST(Hooks, LargeGradientsDoNotOverflowInFp16) {
  const auto mean = same_on_all(asking_for("fp16"), torch::kFloat32, [](RankHook& rank) {
    return rank.reduce({0}, {torch::full({5}, 60000.0), {}, {}});
  });
  EXPECT_TRUE(torch::equal(mean, torch::full({5}, 60000.0)));
}

TEST(Hooks, Fp8IsOneScaleOfAllRanksAndASumInFp32) {
  const auto got = same_on_all(asking_for("fp8"), torch::kFloat32, [](RankHook& rank) { return rank.reduce_all(1); });
  std::vector<torch::Tensor> flats;
  double largest = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    flats.push_back(flat_of(make_gradients(make_parameters(), rank, 1)));
    largest = std::max(largest, flats.back().abs().max().item<double>());
  }
  const auto scale = static_cast<float>(largest) / 448.0F;
  auto sum = torch::zeros({128});
  for (const auto& flat : flats) sum += (flat / scale).to(torch::kFloat8_e4m3fn).to(torch::kFloat32);
  EXPECT_TRUE(torch::allclose(got, sum * scale / ranks, 1e-6, 1e-7));
  const auto zeros = same_on_all(asking_for("fp8"), torch::kFloat32, [](RankHook& rank) {
    return rank.reduce({0}, {torch::zeros({5}), {}, {}});
  });
  EXPECT_TRUE(torch::equal(zeros, torch::zeros({5})));
}

/// top_k as its definition says it, element by element, with the residual of each parameter.
class PlainTopK {
 public:
  PlainTopK(double share, bool fp8, bool feedback) : share_(share), fp8_(fp8), feedback_(feedback) {
    for (const auto& parameter : make_parameters()) {
      for (auto& residual : residuals_) residual.push_back(torch::zeros({parameter.numel()}));
    }
  }

  torch::Tensor reduce(const std::vector<std::size_t>& chosen, int step) {
    torch::Tensor sum;
    for (int rank = 0; rank < ranks; ++rank) {
      auto& residuals = residuals_[static_cast<std::size_t>(rank)];
      const auto gradients = make_gradients(make_parameters(), rank, step);
      Tensors parts;
      for (const auto i : chosen) parts.push_back(gradients[i].flatten() + residuals[i]);
      const auto flat = at::cat(parts);
      const auto sent = largest_of(flat);
      std::int64_t offset = 0;
      for (const auto i : chosen) {
        const auto end = offset + residuals[i].numel();
        if (feedback_) residuals[i] = (flat - sent).slice(0, offset, end).clone();
        offset = end;
      }
      sum = sum.defined() ? sum + sent / ranks : sent / ranks;
    }
    return sum;
  }

 private:
  torch::Tensor largest_of(const torch::Tensor& flat) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(flat.numel()));
    std::iota(order.begin(), order.end(), 0);
    const auto* values = flat.data_ptr<float>();
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return std::abs(values[a]) > std::abs(values[b]); });
    order.resize(static_cast<std::size_t>(std::max(1LL, std::llround(share_ * static_cast<double>(flat.numel())))));
    auto sent = torch::zeros_like(flat);
    const auto scale = std::abs(values[order.front()]) / 448.0F;
    for (const auto i : order) {
      auto value = flat[i];
      if (fp8_) value = (value / scale).to(torch::kFloat8_e4m3fn).to(torch::kFloat32) * scale;
      sent[i] = value;
    }
    return sent;
  }

  double share_;
  bool fp8_, feedback_;
  Tensors residuals_[ranks];
};

TEST(Hooks, TopKIsItsDefinitionAndRebuiltBucketsKeepTheirResiduals) {
  for (const std::string hook : {"top_k", "top_k_fp8"}) {
    for (const bool feedback : {true, false}) {
      PlainTopK plain(0.2, hook == "top_k_fp8", feedback);
      Tensors expected{plain.reduce({0, 1, 2}, 1), plain.reduce({2, 0}, 2), plain.reduce({1}, 2),
                       plain.reduce({2, 0}, 3)};
      const auto got = same_on_all(asking_for(hook, 0.2, 1, feedback), torch::kFloat32, [&](RankHook& rank) {
        Tensors out{rank.reduce_all(1)};
        const auto second = make_gradients(rank.parameters, rank.rank, 2);
        out.push_back(rank.reduce({2, 0}, second));
        out.push_back(rank.reduce({1}, second));
        out.push_back(rank.reduce({2, 0}, make_gradients(rank.parameters, rank.rank, 3)));
        return at::cat(out);
      });
      EXPECT_TRUE(torch::allclose(got, at::cat(expected), 1e-5, 1e-6)) << hook << (feedback ? " with" : " without");
    }
  }
}

TEST(Hooks, WhatTopKLeavesOutComesLater) {
  // The same gradient again and again: in the mean over many steps all of it arrives.
  const auto mean = same_on_all(asking_for("top_k", 0.1), torch::kFloat32, [](RankHook& rank) {
    auto sum = torch::zeros({128});
    for (int step = 0; step < 200; ++step) sum += rank.reduce_all(1);
    return sum / 200;
  });
  EXPECT_LT(distance(mean, exact_mean(1)), 0.1);
}

TEST(Hooks, PowerSgdKeepsVectorsAndWhatIsOfLowRank) {
  const auto got = same_on_all(asking_for("power_sgd", 0, 2), torch::kFloat32, [](RankHook& rank) {
    auto gradients = make_gradients(rank.parameters, rank.rank, 1);
    gradients[1] = at::outer(torch::arange(1.0, 10.0), torch::arange(-3.0, 4.0)).to(torch::kFloat32);
    return rank.reduce({0, 1, 2}, gradients);
  });
  const auto vector = exact_mean(1).slice(0, 0, 5);
  EXPECT_LT(distance(got.slice(0, 0, 5), vector), 1e-6);
  const auto matrix = at::outer(torch::arange(1.0, 10.0), torch::arange(-3.0, 4.0)).flatten().to(torch::kFloat64);
  EXPECT_LT(distance(got.slice(0, 5, 68), matrix), 1e-5) << "a matrix of rank 1 was not kept by rank 2";
}

TEST(Hooks, PowerSgdFindsTheBestApproximationAndFeedbackBringsTheRest) {
  const auto step_of = [](int steps) {
    return [steps](RankHook& rank) {
      torch::Tensor out;
      for (int step = 0; step < steps; ++step) out = rank.reduce_all(1);
      return out;
    };
  };
  // Warm start without feedback is power iteration: in the end what the singular value decomposition keeps is left.
  const auto matrix = exact_mean(1).slice(0, 5, 68).view({9, 7});
  const auto [u, s, v] = at::linalg_svd(matrix, false);
  const auto best = (s[0] * at::outer(u.select(1, 0), v.select(0, 0))).flatten();
  const auto got = same_on_all(asking_for("power_sgd", 0, 1, false), torch::kFloat32, step_of(200));
  EXPECT_LT(distance(got.slice(0, 5, 68), best), 1e-3);
  const auto mean = same_on_all(asking_for("power_sgd", 0, 1), torch::kFloat32, [](RankHook& rank) {
    auto sum = torch::zeros({128});
    for (int step = 0; step < 200; ++step) sum += rank.reduce_all(1);
    return sum / 200;
  });
  EXPECT_LT(distance(mean, exact_mean(1)), 0.1);
}

TEST(Hooks, AStepWithoutGradientsDoesNotEndPowerSgd) {
  const auto got = same_on_all(asking_for("power_sgd", 0, 1, false), torch::kFloat32, [](RankHook& rank) {
    const Tensors nothing{torch::zeros({5}), torch::zeros({9, 7}), torch::zeros({4, 3, 5})};
    EXPECT_TRUE(torch::equal(rank.reduce({0, 1, 2}, nothing), torch::zeros({128})));
    return rank.reduce_all(1);
  });
  EXPECT_TRUE(torch::isfinite(got).all().item<bool>());
  EXPECT_GT(got.slice(0, 5, 68).norm().item<double>(), 0.1);
}

TEST(Hooks, EveryHookWorksInEveryTypeAndStartsAnew) {
  for (const auto& hook : known_hooks()) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kHalf}) {
      same_on_all(asking_for(hook), type, [&](RankHook& rank) {
        const auto first = rank.reduce_all(1).clone();
        EXPECT_TRUE(torch::isfinite(first).all().item<bool>()) << hook;
        rank.reduce_all(2);
        rank.hook->restart();
        EXPECT_TRUE(torch::equal(rank.reduce_all(1), first)) << hook << ": something is left of earlier steps";
        return first;
      });
    }
  }
}

TEST(Hooks, WhatIsSentIsWhatTheDocumentationSays) {
  struct Sent {
    std::string hook;
    std::int64_t all_reduce, all_gather;
  };
  const std::vector<Sent> table{{"", 512, 0},
                                {"bf16", 256, 0},
                                {"fp16", 256, 0},
                                {"fp8", 4, 128},
                                {"top_k", 0, 26 * 8},   // 20 % of 128 elements: 26 places and values
                                {"top_k_fp8", 0, 144},  // scale and places up to 112, then 26 bytes up to 144
                                {"power_sgd", 4 * (5 + 9 + 7 + 4 + 15), 0}};
  for (const auto& expected : table) {
    same_on_all(asking_for(expected.hook), torch::kFloat32, [&](RankHook& rank) {
      const auto out = rank.reduce_all(1);
      EXPECT_EQ(rank.traffic().at("all_reduce").bytes, expected.all_reduce) << expected.hook;
      EXPECT_EQ(rank.traffic().at("all_gather").bytes, expected.all_gather) << expected.hook;
      return out;
    });
  }
}

TEST(Hooks, WhatIsKeptIsCounted) {
  run_ranks(ranks, [](int, const auto& backend) {
    EXPECT_EQ(RankHook(asking_for("bf16"), backend).hook->state_bytes(), 0);
    EXPECT_EQ(RankHook(asking_for("top_k"), backend).hook->state_bytes(), 128 * 4);
    EXPECT_EQ(RankHook(asking_for("top_k", 0.2, 1, false), backend).hook->state_bytes(), 0);
    EXPECT_EQ(RankHook(asking_for("power_sgd"), backend).hook->state_bytes(), (128 + 7 + 15) * 4);
  });
}

TEST(Hooks, AForeignParameterAndAnUnknownNameAreErrors) {
  run_ranks(1, [](int, const auto& backend) {
    RankHook rank(asking_for("top_k"), backend);
    rank.parameters[0] = torch::zeros({5});
    try {
      rank.reduce_all(1);
      FAIL() << "a parameter of another model was accepted";
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("shape [5] that the hook was not made for"));
    }
    EXPECT_THROW(RankHook(asking_for("zip"), backend), UnsupportedCell);
  });
}

TEST(Hooks, HeldBucketsAreReducedWithTheLastOne) {
  for (const std::string overlap : {"none", "reduce_last"}) {
    run_ranks(ranks, [&](int, const auto& backend) {
      TraceLog log;
      const auto counted = c10::make_intrusive<RecordingBackend>(backend, log, false);
      const auto parameters = make_parameters();
      const auto hook =
          make_overlap_hook(overlap, make_gradient_hook(asking_for(""), group_over(counted), parameters), {});
      auto first = bucket_of(0, 2, torch::ones({5}), {parameters[0]});
      auto last = bucket_of(1, 2, torch::ones({63}), {parameters[1]});
      const auto first_done = hook->runHook(first);
      EXPECT_EQ(counted->traffic().now().at("all_reduce").calls, 0) << overlap;
      EXPECT_FALSE(first_done->completed()) << overlap;
      const auto last_done = hook->runHook(last);
      first_done->waitAndThrow();
      last_done->waitAndThrow();
      EXPECT_EQ(counted->traffic().now().at("all_reduce").calls, 2) << overlap;
      EXPECT_TRUE(torch::equal(hook->parseHookResult(first_done->value()), torch::ones({5})));
    });
  }
}

}  // namespace
}  // namespace stepgauge::worker
