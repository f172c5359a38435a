// Settings that an arm of a gate lays over every cell: a setting that is lost, or that changes how cells are judged,
// makes the comparison a lie.
#include "config/variant.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/suite.hpp"

namespace stepgauge::config {
namespace {

class Variant : public ::testing::Test {
 protected:
  Variant() : path_(std::filesystem::path(::testing::TempDir()) / "variant_test.yaml") {
    std::ofstream(path_) << "stepgauge: 1\nname: v\ndefaults: {device: cpu, env: {OMP_NUM_THREADS: \"2\"}}\n"
                            "axes: {workload: [resnet18, llama.tiny], batch: [2, 4]}\n"
                            "exclude: [{workload: resnet18, batch: 2}]\n"
                            "overrides: [{match: {batch: 4}, set: {seed: 7}}]\n";
  }
  ~Variant() override { std::filesystem::remove(path_); }

  Suite with(const std::vector<std::string>& settings) const {
    return load_suite(path_, read_settings(settings, "--head"));
  }
  std::string error(const std::vector<std::string>& settings) const {
    try {
      with(settings);
    } catch (const ConfigError& refused) {
      return refused.what();
    }
    return "";
  }

  std::filesystem::path path_;
};

TEST_F(Variant, EveryCellGetsTheSetting) {
  const auto plain = load_suite(path_);
  const auto slowed = with({"perturb.step_percent=5%"});
  ASSERT_EQ(slowed.cells.size(), 3u);
  EXPECT_EQ(slowed.places, plain.places);
  for (std::size_t i = 0; i < slowed.cells.size(); ++i) {
    EXPECT_DOUBLE_EQ(slowed.cells[i].perturb.step_percent, 5);
    EXPECT_NE(slowed.cells[i].id, plain.cells[i].id);
    EXPECT_EQ(slowed.cells[i].batch, plain.cells[i].batch);
  }
}

TEST_F(Variant, MapsAreCompletedAndOverridesLose) {
  const auto out = with({"env.MKL_NUM_THREADS=\"3\"", "env.OMP_NUM_THREADS=\"1\"", "seed=9"});
  for (const auto& cell : out.cells) {
    EXPECT_EQ(cell.env, (std::map<std::string, std::string>{{"MKL_NUM_THREADS", "3"}, {"OMP_NUM_THREADS", "1"}}));
    EXPECT_EQ(cell.seed, 9);
  }
}

TEST_F(Variant, CellsThatBecomeOneKeepTheFirstPlace) {
  const auto out = with({"batch=8", "seed=1"});
  EXPECT_EQ(out.places, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(out.merged, 1u);
}

TEST_F(Variant, NoSettingChangesNothing) {
  const auto plain = load_suite(path_), same = with({});
  ASSERT_EQ(same.cells.size(), plain.cells.size());
  for (std::size_t i = 0; i < plain.cells.size(); ++i) EXPECT_EQ(to_json(same.cells[i]), to_json(plain.cells[i]));
}

TEST_F(Variant, ErrorsNameTheSetting) {
  for (const auto& [setting, words] :
       std::vector<std::pair<std::string, std::string>>{{"launches=3", "both arms share"},
                                                        {"tolerance.throughput=5%", "both arms share"},
                                                        {"precison=bf16", "precision"},
                                                        {"precision=bf17", "bf16"},
                                                        {"batch", "KEY=VALUE"},
                                                        {"=2", "empty"},
                                                        {"ddp.=2", "empty"},
                                                        {"batch=[2, 4]", "batch"},
                                                        {"batch=\"2", "--head"},
                                                        {"env.LD_PRELOAD=x", "LD_"}}) {
    const auto text = error({setting});
    EXPECT_NE(text.find(words), std::string::npos) << setting << ": " << text;
    EXPECT_NE(text.find("--head"), std::string::npos) << setting << ": " << text;
  }
  EXPECT_NE(error({"batch=2", "batch=4"}).find("set twice"), std::string::npos);
  EXPECT_NE(error({"ddp=2", "ddp.ranks=2"}).find("set twice"), std::string::npos);
}

}  // namespace
}  // namespace stepgauge::config
