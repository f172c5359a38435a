#include "contract/cell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepgauge {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

Cell sample_cell() {
  Cell cell;
  cell.workload = {"resnet50", "resnet", {{"depth", 50}, {"width", 64}, {"classes", 1000}, {"image", 224}}};
  cell.batch = 256;
  cell.precision = "bf16";
  cell.ddp.ranks = 2;
  cell.ddp.backend = "nccl";
  cell.env = {{"NCCL_DEBUG", "INFO"}};
  assign_identity(cell);
  return cell;
}

TEST(Cell, SurvivesARoundTripExactly) {
  auto cell = sample_cell();
  cell.optimizer.lr = 0.1 + 0.2;
  cell.perturb.step_percent = 12.5;
  cell.perturb.sleep_phase = "build";
  cell.perturb.sleep_s = 1e-3;
  cell.perturb.fault = CellFault{"kill", 1, 7};
  cell.tolerance["throughput"].relative = 0.05;
  cell.measure.steps = 123;
  cell.limits.silence_s = 33.5;
  cell.needs.link = "nvlink";
  assign_identity(cell);
  const auto text = dump_line(to_json(cell));
  EXPECT_EQ(dump_line(to_json(cell_from_json(parse_json(text, "cell"), "cell"))), text);
}

TEST(Cell, IdIsReadableAndEndsInTheHash) {
  const auto cell = sample_cell();
  EXPECT_THAT(cell.id, HasSubstr("resnet50.b256/eager/bf16/cuda.ddp2"));
  EXPECT_THAT(cell.id, EndsWith("-" + cell.hash));
  EXPECT_EQ(cell.hash.size(), 8u);
}

TEST(Cell, WhatChangesTheResultChangesTheHash) {
  const auto reference = sample_cell();
  const std::vector<std::function<void(Cell&)>> changes{[](Cell& c) { c.batch = 128; },
                                                        [](Cell& c) { c.precision = "fp16"; },
                                                        [](Cell& c) { c.ddp.ranks = 1; },
                                                        [](Cell& c) { c.seed = 1; },
                                                        [](Cell& c) { c.env["NCCL_DEBUG"] = ""; },
                                                        [](Cell& c) { c.worker = "peer"; },
                                                        [](Cell& c) { c.optimizer.lr = 0.2; },
                                                        [](Cell& c) { c.device = "cpu"; },
                                                        [](Cell& c) { c.input = "fresh"; },
                                                        [](Cell& c) { c.ddp.bucket_cap_mb = 1; },
                                                        [](Cell& c) { c.perturb.step_percent = 1; },
                                                        [](Cell& c) { c.workload.sizes["image"] = 32; }};
  for (const auto& change : changes) {
    auto cell = reference;
    change(cell);
    assign_identity(cell);
    EXPECT_NE(cell.hash, reference.hash) << cell.id;
  }
}

TEST(Cell, HowItIsMeasuredAndJudgedIsNotPartOfTheIdentity) {
  auto cell = sample_cell();
  cell.measure.steps = 999;
  cell.limits.launch_s = 1;
  cell.tolerance["throughput"].relative = 0.5;
  cell.needs.gpus = 8;
  cell.launches = 77;
  cell.price_per_gpu_hour = 9;
  cell.suite = "another";
  assign_identity(cell);
  EXPECT_EQ(cell.hash, sample_cell().hash);
}

TEST(Cell, APlantedSlowdownStandsInTheId) {
  auto cell = sample_cell();
  EXPECT_FALSE(is_perturbed(cell));
  cell.perturb.step_percent = 5;
  assign_identity(cell);
  EXPECT_TRUE(is_perturbed(cell));
  EXPECT_THAT(cell.id, HasSubstr("PERTURBED.step+5%"));
}

TEST(Cell, OddTextInAVariableCannotBreakTheId) {
  auto cell = sample_cell();
  cell.env = {{"NCCL_X", "a b\n\"c\\\xc3\xa9"}};
  assign_identity(cell);
  for (const char c : cell.id)
    EXPECT_TRUE(c > ' ' && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x7f) << cell.id;
}

TEST(Cell, ANewerVersionIsRefusedByName) {
  auto value = to_json(sample_cell());
  value["version"] = cell_version + 1;
  try {
    cell_from_json(value, "cell.json");
    FAIL() << "a newer cell was read";
  } catch (const ContractError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cell.json: cell version 2, this program reads up to 1"));
  }
}

TEST(Cell, AMissingFieldIsNamed) {
  auto value = to_json(sample_cell());
  value["ddp"].erase("ranks");
  try {
    cell_from_json(value, "cell.json");
    FAIL();
  } catch (const ContractError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cell.json.ddp: \"ranks\" is missing"));
  }
}

}  // namespace
}  // namespace stepgauge
