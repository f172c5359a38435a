// The catalogues that everything else looks things up in: metrics, workloads, schemas, nearest names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "contract/json_io.hpp"
#include "contract/metrics.hpp"
#include "contract/schemas.hpp"
#include "contract/suggest.hpp"
#include "contract/workload_catalogue.hpp"

namespace stepgauge {
namespace {

using testing::HasSubstr;

TEST(Metrics, NamesAreUniqueAndBlockingOnesHaveATolerance) {
  std::set<std::string> names;
  for (const auto& metric : metric_catalogue()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(!metric.blocking || metric.tolerance > 0 || metric.floor > 0) << metric.name;
    EXPECT_FALSE(metric.unit.empty()) << metric.name;
    EXPECT_FALSE(metric.definition.empty()) << metric.name;
  }
  for (const char* headline : {"init_latency", "first_step_latency", "peak_memory", "stall_ratio", "throughput"}) {
    EXPECT_NE(find_metric(headline), nullptr) << headline;
  }
  EXPECT_EQ(find_metric("throughput")->better, Better::higher);
  EXPECT_EQ(find_metric("peak_memory")->better, Better::lower);
}

TEST(Workloads, EveryPresetGivesEverySize) {
  for (const char* preset : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "llama.tiny", "llama.160m",
                             "llama.1.1b", "llama.7b"}) {
    const auto* family = family_of_preset(preset);
    ASSERT_NE(family, nullptr) << preset;
    for (const auto& [name, size] : family->sizes) {
      EXPECT_TRUE(size.default_value.has_value() || family->presets.at(preset).count(name) > 0)
          << preset << " " << name;
    }
    EXPECT_EQ(family->sizes.count(family->shape_axis), 1u);
  }
  EXPECT_EQ(family_of_preset("resnet51"), nullptr);
}

TEST(Schemas, AllAreThereAndValidJson) {
  for (const char* name : {"suite", "cell", "record", "run", "baseline", "comparison", "gate"}) {
    ASSERT_FALSE(schema_text(name).empty()) << name;
    EXPECT_TRUE(parse_json(schema_text(name), name).contains("$schema"));
  }
  EXPECT_TRUE(schema_text("nonsense").empty());
}

TEST(Suggest, NamesTheNearest) {
  const std::vector<std::string> known{"precision", "checkpointing", "memory_format"};
  EXPECT_EQ(nearest_name("precison", known), "precision");
  EXPECT_EQ(nearest_name("Precision", known), "precision");
  EXPECT_EQ(nearest_name("zzzzzzzz", known), "");
  EXPECT_THAT(suggestion("precison", known), HasSubstr("did you mean \"precision\"?"));
  EXPECT_THAT(suggestion("zzzzzzzz", known), HasSubstr("known: precision, checkpointing, memory_format"));
}

}  // namespace
}  // namespace stepgauge
