// --only and --skip: a glob that selects nothing must not pass for a green run.
#include "config/selection.hpp"

#include "support.hpp"

namespace stepgauge::config {
namespace {

const std::vector<Cell>& cells() {
  static const auto suite = suite_of(
      "defaults: {device: cpu}\naxes: {workload: [resnet18, resnet50], precision: [fp32, bf16], ddp: [1, 2]}\n");
  return suite.cells;
}

std::size_t count(std::vector<std::string> only, std::vector<std::string> skip = {}) {
  return select(cells(), {std::move(only), std::move(skip)}).size();
}

TEST(Selection, GlobsMatchWholeIds) {
  EXPECT_EQ(count({}), 8u);
  EXPECT_EQ(count({"*"}), 8u);
  EXPECT_EQ(count({"resnet18*"}), 4u);
  EXPECT_EQ(count({"*bf16*"}), 4u);
  EXPECT_EQ(count({"resnet??.b1/*/bf16/*"}), 4u);
  EXPECT_EQ(count({"*/cpu.ddp[2-4]"}), 4u);  // without the hash
  EXPECT_EQ(count({"resnet18.b1/eager/fp32/cpu.ddp1"}), 1u);
  EXPECT_EQ(count({cells()[3].id}), 1u);
  EXPECT_EQ(count({"*-" + cells()[3].hash}), 1u);
  EXPECT_EQ(count({"resnet18*", "*bf16*"}), 6u);
  EXPECT_EQ(count({"resnet18*"}, {"*ddp2"}), 2u);
  EXPECT_EQ(count({}, {"*ddp2"}), 4u);
}

TEST(Selection, OrderIsTheSuites) {
  const auto chosen = select(cells(), {{"resnet50*", "resnet18*"}, {}});
  for (std::size_t i = 0; i < chosen.size(); ++i) EXPECT_EQ(chosen[i].id, cells()[i].id);
}

TEST(Selection, AGlobThatMatchesNothingNamesTheNearest) {
  const auto error = [](Selection selection) { return error_of([&] { select(cells(), selection); }); };
  expect_parts(error({{"resnt50*"}, {}}), "--only \"resnt50*\": ", {"none of 8 cells", "nearest is \"resnet50.b1/"});
  expect_parts(error({{"resnet18.b1/eager/fp32/cpu.ddp3"}, {}}), "--only",
               {"nearest is \"resnet18.b1/eager/fp32/cpu.ddp1\""});
  expect_parts(error({{"resnet18"}, {}}), "--only \"resnet18\"", {"nearest is \"resnet18"});
  expect_parts(error({{}, {"*fp8*"}}), "--skip \"*fp8*\": ", {"none of 8 cells"});
  expect_parts(error({{"*"}, {"*"}}), "--only and --skip leave none of 8 cells", {});
  expect_parts(error({{""}, {}}), "--only \"\"", {});
}

}  // namespace
}  // namespace stepgauge::config
