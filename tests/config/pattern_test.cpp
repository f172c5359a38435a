// exclude and overrides.match: which cells a map selects, and maps that can select none.
#include "support.hpp"

namespace stepgauge::config {
namespace {

const std::string matrix =
    "defaults: {device: cpu}\n"
    "axes: {workload: [resnet18, {name: llama.tiny, hidden: 128}], precision: [fp32, bf16, fp16], ddp: [1, 2]}\n";

std::size_t left_after(const std::string& exclude) {
  return suite_of(matrix + "exclude: [" + exclude + "]\n").cells.size();
}

TEST(Exclude, DropsWhatMeetsEveryAxis) {
  EXPECT_EQ(left_after("{workload: \"llama.*\", precision: fp16}"), 10u);
  EXPECT_EQ(left_after("{precision: [fp16, bf16]}"), 4u);
  EXPECT_EQ(left_after("{precision: \"*16\", ddp: 2}, {workload: resnet18}"), 4u);
  EXPECT_EQ(left_after("{workload: {hidden: 128}}"), 6u);
  EXPECT_EQ(left_after("{workload: {name: \"resnet*\", width: 64}}"), 6u);
  EXPECT_EQ(left_after("{ddp: {ranks: 2, static_graph: false}}"), 6u);
  EXPECT_EQ(left_after("{optimizer: adamw}"), 6u);
  EXPECT_EQ(left_after("{optimizer: {lr: 1e-1}}"), 6u);
  EXPECT_EQ(left_after("{image: 224}"), 6u);
  EXPECT_EQ(left_after("{perturb: none, ddp: 1}"), 6u);
}

TEST(Exclude, SeesDefaultsEnvironmentAndPerturbation) {
  const std::string body = one_cell +
                           "axes: {env: [{OMP_NUM_THREADS: 1}, {OMP_NUM_THREADS: 2, MKL_DYNAMIC: x}], perturb: [none, "
                           "{step_percent: 5%}]}\n";
  EXPECT_EQ(suite_of(body + "exclude: [{env: {OMP_NUM_THREADS: \"2\"}}]\n").cells.size(), 2u);
  EXPECT_EQ(suite_of(body + "exclude: [{env: {MKL_DYNAMIC: \"*\"}}]\n").cells.size(), 2u);
  EXPECT_EQ(suite_of(body + "exclude: [{perturb: {step_percent: 5}}]\n").cells.size(), 2u);
  EXPECT_EQ(suite_of(body + "exclude: [{perturb: none}]\n").cells.size(), 2u);
}

TEST(Exclude, KeepsTheReason) {
  const auto suite = suite_of(matrix + "exclude:\n  - {precision: fp16}\n");
  ASSERT_EQ(suite.excluded.size(), 4u);
  EXPECT_EQ(suite.excluded[0].reason, "excluded at t.yaml:6");
  EXPECT_EQ(suite.excluded[0].status, Status::skipped);
  EXPECT_THAT(suite.excluded[0].id, testing::StartsWith("resnet18.b1/eager/fp16/cpu.ddp1-"));
  EXPECT_EQ(suite.excluded[0].hash.size(), 8u);
}

TEST(Exclude, MayDropCellsThatCouldNotBe) {
  const std::string body =
      "defaults: {workload: resnet18}\naxes: {device: [cuda, cpu], ddp: [1, {ranks: 2, transport: p2p_off}]}\n";
  expect_error(body, "4:60", {"ddp.transport", "setting of nccl"});
  EXPECT_EQ(suite_of(body + "exclude: [{device: cpu, ddp: {transport: p2p_off}}]\n").cells.size(), 3u);
}

TEST(Exclude, OneThatMatchesNothingIsAnError) {
  const auto bad = [](const std::string& exclude, const std::string& at, std::initializer_list<const char*> parts) {
    expect_error(matrix + "exclude:\n  - " + exclude + "\n", at, parts);
  };
  bad("{precision: tf32}", "6:17", {"exclude[0]: matches no cell", "none has precision tf32"});
  bad("{precision: fp32, batch: [2, 4]}", "6:30", {"none has batch 2 or 4"});
  bad("{workload: resnet18, optimizer: adamw}", "6:5", {"none has all of these values"});
  bad("{precision: bf61}", "6:17", {"no value is like \"bf61\"", "did you mean \"bf16\""});
  bad("{workload: \"lama.*\"}", "6:16", {"no value is like \"lama.*\""});
  bad("{precsion: fp32}", "6:6", {"unknown key \"precsion\"", "\"precision\""});
  bad("{}", "6:5", {"the map is empty"});
  bad("{batch: \"1\"}", "6:13", {"remove the quotes"});
  bad("{precision: []}", "6:17", {"the list is empty"});
  bad("resnet18", "6:5", {"expected a map, found resnet18"});
  expect_error(matrix + "exclude: {precision: fp32}\n", "5:10", {"expected a list of maps"});
}

}  // namespace
}  // namespace stepgauge::config
