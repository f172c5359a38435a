// Parts of one run put together: of one machine alone, and a part of its cores is one machine's where GPUs are measured.
#include "store/merge.hpp"

#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;
using MergeTest = Scratch;

Json two_gpus(int cores, const char* model = "NVIDIA H200") {
  return {{"cpu", {{"cores", cores}, {"model", "Xeon"}}},
          {"gpus", Json::array({{{"count", 2}, {"memory_gib", 141}, {"model", model}}})},
          {"links", {{"nvlink", 1}}}};
}

void make_part(const std::filesystem::path& path, const Cell& cell, const Json& fingerprint) {
  auto info = run_info({cell});
  info.fingerprint = fingerprint;
  info.environment["cores_of_this"] = fingerprint["cpu"]["cores"];
  RunFolder::create(path, info).append(make_launch(cell, 0));
}

TEST_F(MergeTest, PartsThatHadSomeOfTheCoresAreOfTheMachineThatHasMost) {
  make_part(folder_ / "a", make_cell(), two_gpus(16));
  make_part(folder_ / "b", make_cell({.ranks = 2}), two_gpus(32));
  const auto merged = merge_runs(folder_ / "all", {folder_ / "a", folder_ / "b"});
  EXPECT_EQ(merged.info().fingerprint, two_gpus(32));
  EXPECT_EQ(merged.info().environment["cores_of_this"], 32);
  EXPECT_EQ(merged.results().cells.size(), 2u);
}

TEST_F(MergeTest, OtherMachinesAreRefused) {
  make_part(folder_ / "a", make_cell(), two_gpus(32));
  make_part(folder_ / "b", make_cell({.ranks = 2}), two_gpus(32, "NVIDIA H100"));
  make_part(folder_ / "c", make_cell(), {{"cpu", {{"cores", 2}, {"model", "Xeon"}}}});
  make_part(folder_ / "d", make_cell({.ranks = 2}), {{"cpu", {{"cores", 4}, {"model", "Xeon"}}}});
  for (const auto& [one, other] : {std::pair{"a", "b"}, std::pair{"c", "d"}, std::pair{"a", "c"}}) {
    const auto error = error_of([&] { merge_runs(folder_ / "all", {folder_ / one, folder_ / other}); });
    EXPECT_NE(error.find("were measured on different machines"), std::string::npos) << one << other << error;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "all"));
  }
}

}  // namespace
}  // namespace stepgauge::store
