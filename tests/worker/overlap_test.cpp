// Overlap strategies in whole training steps, on ranks that are threads: if these fail, a strategy is fast because it
// trains on something else.
#include "worker/parallel/overlap.hpp"

#include <gmock/gmock.h>

#include "thread_group.hpp"
#include "worker/data_source.hpp"
#include "worker/eager_program.hpp"
#include "worker/parallel/ideal.hpp"

namespace stepgauge::worker {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<torch::Tensor>;

constexpr int ranks = 2, steps = 4;

Cell cell_with(const std::string& overlap, const std::string& optimizer = "adamw") {
  Cell cell;
  cell.workload = {
      "llama.tiny",
      "llama",
      {{"layers", 2}, {"hidden", 32}, {"heads", 2}, {"kv_heads", 1}, {"ffn", 48}, {"vocab", 64}, {"sequence", 8}}};
  cell.device = "cpu";
  cell.compile = "eager";
  cell.precision = "fp32";
  cell.checkpointing = "none";
  cell.memory_format = "contiguous";
  cell.input = "fresh";
  cell.batch = 2;
  cell.optimizer.name = optimizer;
  cell.optimizer.lr = 0.01;
  cell.ddp.ranks = ranks;
  cell.ddp.overlap = overlap;
  cell.ddp.bucket_cap_mb = 0.01;  // several buckets
  cell.ddp.first_bucket_mb = 0.005;
  return cell;
}

/// A program of a rank with everything that it stands on.
struct RankProgram {
  RankProgram(const Cell& cell, const c10::intrusive_ptr<c10d::Backend>& backend)
      : workload(workloads::make_workload(cell.workload.family, cell.workload.sizes)),
        room(make_cpu_room()),
        group(c10::make_intrusive<c10d::HashStore>(), backend, *room, log),
        program(cell, *workload, *room, backend->getRank()) {
    program.wrap(group);
  }
  Tensors weights() const {
    Tensors out;
    for (const auto& [name, parameter] : program.parameters()) out.push_back(parameter.detach().clone());
    return out;
  }

  std::unique_ptr<workloads::Workload> workload;
  std::unique_ptr<DeviceRoom> room;
  TraceLog log;
  RankGroup group;
  EagerProgram program;
};

struct Trained {
  Tensors weights;
  std::vector<double> losses;
  TrafficByKind last_step;
  std::size_t buckets = 0;
};

/// Rank 0 after some steps; every rank has the same weights.
Trained train(const Cell& cell) {
  std::vector<Trained> out(ranks);
  run_ranks(ranks, [&](int rank, const auto& backend) {
    auto& own = out[static_cast<std::size_t>(rank)];
    RankProgram made(cell, backend);
    TrafficByKind before;
    for (int step = 0; step < steps; ++step) {
      before = made.group.traffic();
      own.losses.push_back(made.program.step().template item<double>());
    }
    own.last_step = made.group.traffic() - before;
    own.weights = made.weights();
    own.buckets = made.program.bucket_bytes().size();
  });
  for (std::size_t i = 0; i < out[0].weights.size(); ++i)
    EXPECT_TRUE(torch::equal(out[0].weights[i], out[1].weights[i])) << cell.ddp.overlap << ": ranks drifted apart";
  return out[0];
}

void expect_equal(const Trained& got, const Trained& expected, const std::string& what) {
  EXPECT_EQ(got.losses, expected.losses) << what;
  for (std::size_t i = 0; i < expected.weights.size(); ++i)
    EXPECT_TRUE(torch::equal(got.weights[i], expected.weights[i])) << what << ", parameter " << i;
}

TEST(Overlap, ExactStrategiesEqualDdpBitForBit) {
  for (const std::string optimizer : {"adamw", "sgd"}) {
    const auto ddp = train(cell_with("ddp", optimizer));
    EXPECT_GT(ddp.buckets, 2U);
    for (const std::string overlap : {"none", "reduce_last", "optimizer_in_hook"}) {
      auto cell = cell_with(overlap, optimizer);
      const auto got = train(cell);
      expect_equal(got, ddp, overlap + " with " + optimizer);
      EXPECT_EQ(got.last_step.at("all_reduce").bytes, ddp.last_step.at("all_reduce").bytes) << overlap;
      EXPECT_EQ(got.last_step.at("all_reduce").calls, ddp.last_step.at("all_reduce").calls) << overlap;
      cell.ddp.gradient_as_bucket_view = false;
      expect_equal(train(cell), ddp, overlap + " without bucket views");
    }
  }
}

TEST(Overlap, AccumulationEqualsOneBigBatch) {
  auto cell = cell_with("ddp_no_sync_3");
  const auto accumulated = train(cell);
  auto big = cell_with("ddp");
  big.input = "fixed";
  big.batch = 3 * cell.batch;
  Trained expected;
  std::vector<std::vector<double>> losses(ranks);
  run_ranks(ranks, [&](int rank, const auto& backend) {
    RankProgram made(big, backend);
    DataSource source(cell, *made.workload, torch::kCPU, torch::kFloat32, rank);
    const auto draw = [&] {
      const auto a = source.draw(), b = source.draw(), c = source.draw();
      return workloads::Batch{at::cat({a.input, b.input, c.input}), at::cat({a.target, b.target, c.target})};
    };
    draw();  // the batches that the program was made with
    for (int step = 0; step < steps; ++step) {
      made.program.set_batch(draw());
      losses[static_cast<std::size_t>(rank)].push_back(made.program.step().template item<double>());
    }
    if (rank == 0) expected.weights = made.weights();
  });
  for (std::size_t step = 0; step < steps; ++step)
    EXPECT_NEAR(accumulated.losses[step], losses[0][step], 1e-4 * losses[0][step]);
  // Adam divides by the square root of what may be nothing but rounding: few elements may differ, by an update.
  for (std::size_t i = 0; i < expected.weights.size(); ++i)
    EXPECT_LT((accumulated.weights[i] - expected.weights[i]).norm().item<double>(),
              1e-2 * expected.weights[i].norm().item<double>());
  const auto ddp = train(cell_with("ddp"));
  EXPECT_EQ(accumulated.last_step.at("all_reduce").bytes, ddp.last_step.at("all_reduce").bytes)
      << "three micro-steps are reduced once";
}

TEST(Overlap, EveryHookGoesWithEveryStrategy) {
  for (const auto& hook : known_hooks()) {
    auto cell = cell_with("ddp");
    cell.ddp.hook = hook;
    cell.ddp.hook_share = 0.1;
    const auto plain = train(cell);
    for (const std::string overlap : {"none", "reduce_last", "optimizer_in_hook"}) {
      cell.ddp.overlap = overlap;
      expect_equal(train(cell), plain, hook + " with " + overlap);
    }
  }
}

TEST(Overlap, StepsWithoutReductionAndReductionsAloneLeaveAProgramThatStartsAnew) {
  for (const std::string overlap : {"ddp", "none", "reduce_last", "optimizer_in_hook", "ddp_no_sync_2"}) {
    for (const std::string hook : {"", "top_k", "power_sgd"}) {
      auto cell = cell_with(overlap);
      cell.input = "fixed";
      cell.ddp.hook = hook;
      run_ranks(ranks, [&](int, const auto& backend) {
        RankProgram made(cell, backend);
        auto& program = made.program;
        for (int step = 0; step < 2; ++step) program.step();
        program.restart();
        const auto first = program.step().clone(), second = program.step().clone();
        LoopResult loop;
        loop.step_ms = {2, 1, 1, 1};
        loop.measured_from = 1;
        const auto ideal = measure_ideal(program, *made.room, made.group, loop);
        EXPECT_GT(ideal.at("compute_ms").template get<double>(), 0);
        EXPECT_GT(ideal.at("communication_ms").template get<double>(), 0);
        EXPECT_EQ(ideal.at("limit_ms"), std::max(ideal.at("compute_ms").template get<double>(),
                                                 ideal.at("communication_ms").template get<double>()));
        EXPECT_DOUBLE_EQ(ideal.at("distance").template get<double>(), 1 / ideal.at("limit_ms").template get<double>());
        const auto before = made.group.traffic();
        program.set_reduction(false);
        program.step();
        EXPECT_EQ((made.group.traffic() - before).at("all_reduce").calls, 0) << overlap << " reduced all the same";
        program.set_reduction(true);
        program.restart();
        EXPECT_TRUE(torch::equal(program.step(), first)) << overlap << " " << hook;
        EXPECT_TRUE(torch::equal(program.step(), second)) << overlap << " " << hook;
      });
    }
  }
}

TEST(Overlap, AParameterThatTheHookMissesIsAnError) {
  const Tensors parameters{torch::ones({3}).set_requires_grad(true), torch::ones({2, 2}).set_requires_grad(true)};
  const auto optimizer = make_optimizer({}, parameters);
  optimizer->step_part({parameters[0]}, {torch::ones({3})});
  try {
    optimizer->finish_parts();
    FAIL() << "a parameter was not updated and nobody said so";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("of shape [2, 2] 0 times in a step, expected once"));
  }
}

TEST(Overlap, CommunicationIsCountedByStepAndKind) {
  run_ranks(ranks, [](int, const auto& backend) {
    RankProgram made(cell_with("ddp"), backend);
    LoopResult loop;
    loop.step_ms = {2, 1, 1};
    loop.measured_from = 1;
    loop.traffic = {{"all_reduce", {8, 1024}}, {"barrier", {0, 0}}};
    const auto out = communication_json({}, made.program, loop);
    EXPECT_EQ(out.at("bytes_per_step_sent"), 512);
    EXPECT_EQ(out.at("collectives_per_step"), 4);
    EXPECT_EQ(out.at("by_kind").size(), 1U);
    EXPECT_EQ(out.at("error_state_mib"), 0);
  });
}

}  // namespace
}  // namespace stepgauge::worker
