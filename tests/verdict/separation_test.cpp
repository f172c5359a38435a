// The smallest setting that separates bad cells from good ones: a wrong one sends people to the wrong code.
#include "verdict/separation.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace stepgauge::verdict {
namespace {

using Settings = std::map<std::string, std::string>;

/// Three compile modes by two precisions by two numbers of ranks; batch goes with the ranks.
std::vector<SeparationCell> matrix(const std::function<Health(const Settings&)>& health) {
  std::vector<SeparationCell> out;
  for (const auto* compile : {"eager", "compile.default", "cuda_graph"}) {
    for (const auto* precision : {"fp32", "fp16"}) {
      for (const auto* ranks : {"1", "2"}) {
        Settings settings{{"compile", compile}, {"precision", precision}, {"ddp.ranks", ranks}, {"seed", "0"}};
        settings["batch"] = std::string(ranks) == "1" ? "8" : "16";
        out.push_back({settings, health(settings)});
      }
    }
  }
  return out;
}

Health bad_if(bool bad) {
  return bad ? Health::bad : Health::good;
}

std::vector<std::string> texts(const Separation& found) {
  std::vector<std::string> out;
  for (const auto& terms : found.conjunctions) out.push_back(text_of(terms));
  return out;
}

TEST(Separation, OneValueOfOneAxis) {
  const auto found = separate(matrix([](const Settings& s) { return bad_if(s.at("precision") == "fp16"); }));
  EXPECT_EQ(found.kind, SeparationKind::separated);
  EXPECT_EQ(found.bad, 6u);
  EXPECT_EQ(found.good, 6u);
  EXPECT_THAT(texts(found), testing::ElementsAre("precision=fp16"));
}

TEST(Separation, AxesThatVaryTogetherAreOneConditionWithItsOtherNames) {
  const auto found = separate(matrix([](const Settings& s) { return bad_if(s.at("ddp.ranks") == "2"); }));
  EXPECT_THAT(texts(found), testing::ElementsAre("ddp.ranks=2"));
  EXPECT_THAT(found.conjunctions.at(0).at(0).also, testing::ElementsAre("batch=16"));
}

TEST(Separation, ThreeSettingsTogether) {
  const auto found = separate(matrix([](const Settings& s) {
    return bad_if(s.at("compile") == "cuda_graph" && s.at("precision") == "fp16" && s.at("ddp.ranks") == "2");
  }));
  EXPECT_THAT(texts(found), testing::ElementsAre("compile=cuda_graph and precision=fp16 and ddp.ranks=2"));
}

TEST(Separation, AnythingButOneValue) {
  const auto found = separate(
      matrix([](const Settings& s) { return bad_if(s.at("compile") != "eager" && s.at("precision") == "fp16"); }));
  EXPECT_THAT(texts(found), testing::ElementsAre("precision=fp16 and compile other than eager"));
}

TEST(Separation, SeveralEquallySmallOnesAreAllTold) {
  // Only (fp16, 2) and (fp32, 1) were measured: both axes separate them.
  const std::vector<SeparationCell> cells{{{{"precision", "fp16"}, {"compile", "cuda_graph"}}, Health::bad},
                                          {{{"precision", "fp16"}, {"compile", "eager"}}, Health::good},
                                          {{{"precision", "fp32"}, {"compile", "cuda_graph"}}, Health::unjudged},
                                          {{{"precision", "fp32"}, {"compile", "eager"}}, Health::good}};
  const auto found = separate(cells);
  EXPECT_EQ(found.unjudged, 1u);
  EXPECT_THAT(texts(found), testing::ElementsAre("compile=cuda_graph"));
  auto three = cells;
  three.push_back({{{"precision", "bf16"}, {"compile", "cuda_graph"}, {"x", "1"}}, Health::good});
  three.push_back({{{"precision", "fp16"}, {"compile", "eager"}, {"x", "1"}}, Health::good});
  three[0].settings["x"] = "2";
  three[0].settings["y"] = "2";
  three[1].settings["y"] = "2";
  three[3].settings["x"] = "2";
  EXPECT_THAT(texts(separate(three)),
              testing::UnorderedElementsAre("compile=cuda_graph and precision=fp16", "compile=cuda_graph and x=2",
                                            "compile=cuda_graph and y=2", "precision=fp16 and x=2", "x=2 and y=2"));
}

TEST(Separation, NoneUniformAloneHealthy) {
  const auto crossed = separate(
      matrix([](const Settings& s) { return bad_if((s.at("precision") == "fp16") != (s.at("ddp.ranks") == "2")); }));
  EXPECT_EQ(crossed.kind, SeparationKind::none);
  EXPECT_TRUE(crossed.conjunctions.empty());
  EXPECT_EQ(separate(matrix([](const Settings&) { return Health::bad; })).kind, SeparationKind::uniform);
  EXPECT_EQ(separate(matrix([](const Settings&) { return Health::good; })).kind, SeparationKind::healthy);
  EXPECT_EQ(separate({{{{"a", "1"}}, Health::bad}}).kind, SeparationKind::alone);
  EXPECT_EQ(separate({}).kind, SeparationKind::healthy);
}

TEST(Separation, MoreThanThreeSettingsAreNotTold) {
  std::vector<SeparationCell> cells;
  for (int i = 0; i < 16; ++i) {
    Settings settings;
    for (int axis = 0; axis < 4; ++axis)
      settings[std::string(1, static_cast<char>('a' + axis))] = (i >> axis) & 1 ? "1" : "0";
    cells.push_back({settings, bad_if(i == 15)});
  }
  EXPECT_EQ(separate(cells).kind, SeparationKind::none);
}

}  // namespace
}  // namespace stepgauge::verdict
