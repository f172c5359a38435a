// What stands beside a number: a slowdown without the NCCL version that came with it sends people the wrong way (C01).
#include <gtest/gtest.h>

#include "build_results.hpp"
#include "verdict/compare.hpp"

namespace stepgauge::verdict {
namespace {

using namespace stepgauge::testing;

CellResults with_software(CellResults cell, const std::string& nccl,
                          const std::map<std::string, std::string>& variables) {
  for (auto& launch : cell.launches) {
    Json rank{{"software", {{"nccl", nccl}, {"torch", "2.11.0"}}}, {"environment", variables}};
    launch.detail["ranks"] = Json::array({rank, rank});
  }
  return cell;
}

TEST(Differences, FlattenedFieldsWithBothValues) {
  const Json a{{"x", {{"y", 1}, {"z", "same"}}}, {"list", {1, 2}}}, b{{"x", {{"y", 2}, {"z", "same"}}}, {"list", {1}}};
  const auto out = differences(a, b);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].field, "list.1");
  EXPECT_EQ(out[0].base, "2");
  EXPECT_EQ(out[0].head, "(none)");
  EXPECT_EQ(out[1].field, "x.y");
  EXPECT_TRUE(differences(a, a).empty());
  EXPECT_TRUE(differences(Json::object(), Json::object()).empty());
}

TEST(Differences, NcclAndVariablesBesideARegression) {
  const auto cell = make_cell({.ranks = 2});
  auto base = result_set("base", {with_software(measured(cell, {{"throughput", around(1000, 0.002)}}), "2.18.5", {})});
  auto head = result_set("head", {with_software(measured(cell, {{"throughput", around(450, 0.002)}}), "2.20.5",
                                                {{"NCCL_P2P_DISABLE", "1"}})});
  head.environment["kernel"] = "6.5";
  const auto out = compare(base, head);
  EXPECT_EQ(out.exit_code, ExitCode::regression);
  ASSERT_EQ(out.software.size(), 3u);
  EXPECT_EQ(out.software[0].field, "kernel");
  EXPECT_EQ(out.software[0].cells, 0u);
  EXPECT_EQ(out.software[1].field, "NCCL_P2P_DISABLE");
  EXPECT_EQ(out.software[1].base, "(none)");
  EXPECT_EQ(out.software[1].head, "1");
  EXPECT_EQ(out.software[1].cells, 1u);
  EXPECT_EQ(out.software[2].field, "nccl");
  EXPECT_EQ(out.software[2].base, "2.18.5");
}

TEST(Differences, VariableOfOneCellAloneIsNoDifference) {
  const auto a = make_cell(), b = make_cell({.ranks = 2});
  const auto plain = with_software(measured(a, {{"throughput", around(1000, 0.002)}}), "2.20", {});
  const auto special =
      with_software(measured(b, {{"throughput", around(1000, 0.002)}}), "2.20", {{"NCCL_ALGO", "Ring"}});
  const auto out = compare(result_set("base", {plain, special}), result_set("head", {plain}));
  EXPECT_TRUE(out.software.empty());
}

TEST(Differences, OddDetailIsNotTrusted) {
  auto cell = measured(make_cell(), {{"throughput", around(1000, 0.002)}});
  cell.launches[0].detail["ranks"] = 5;
  cell.launches[1].detail["ranks"] = Json::array({nullptr, "x", {{"software", nullptr}}});
  const auto set = result_set("x", {cell});
  EXPECT_NO_THROW(compare(set, set));
}

}  // namespace
}  // namespace stepgauge::verdict
