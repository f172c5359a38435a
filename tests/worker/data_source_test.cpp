// The batches that a cell trains on.
#include "worker/data_source.hpp"

#include <gtest/gtest.h>

namespace stepgauge::worker {
namespace {

workloads::Batch drawn(const std::string& family, const nlohmann::json& sizes, const std::string& input, int batch) {
  Cell cell;
  cell.input = input;
  cell.batch = batch;
  const auto workload = workloads::make_workload(family, sizes);
  DataSource source(cell, *workload, torch::kCPU, torch::kFloat32, 0);
  source.draw();
  return source.draw();
}

const nlohmann::json llama{{"layers", 1}, {"hidden", 8},   {"heads", 1},     {"kv_heads", 1},
                           {"ffn", 8},    {"vocab", 1000}, {"sequence", 512}};

double share_below(const torch::Tensor& ids, int limit) {
  return ids.lt(limit).to(torch::kDouble).mean().item<double>();
}

TEST(DataSource, SkewedTokensAreUnequallyFrequentAndTheTargetsAreStillTheNextTokens) {
  const auto batch = drawn("llama", llama, "skewed", 64);
  EXPECT_TRUE(batch.input.narrow(1, 1, 511).equal(batch.target.narrow(1, 0, 511)));
  EXPECT_GE(batch.input.min().item<std::int64_t>(), 0);
  EXPECT_LT(batch.target.max().item<std::int64_t>(), 1000);
  EXPECT_NEAR(share_below(batch.target, 1), 0.1, 0.01);    // u^3 < 1/1000
  EXPECT_NEAR(share_below(batch.target, 125), 0.5, 0.01);  // u^3 < 1/8
  EXPECT_NEAR(share_below(drawn("llama", llama, "fresh", 64).target, 125), 0.125, 0.01);
}

TEST(DataSource, SkewedClassesOfImages) {
  const nlohmann::json sizes{{"depth", 18}, {"width", 8}, {"image", 8}, {"classes", 1000}};
  const auto batch = drawn("resnet", sizes, "skewed", 4096);
  EXPECT_NEAR(share_below(batch.target, 125), 0.5, 0.03);
  EXPECT_TRUE(batch.input.is_floating_point());
}

}  // namespace
}  // namespace stepgauge::worker
