// The schemas name the same values and keys as the reader; a user's editor must not refuse what the product takes.
#include "contract/schemas.hpp"

#include "config/axes.hpp"
#include "config/env_allow_list.hpp"
#include "support.hpp"

namespace stepgauge::config {
namespace {

Json schema(const char* name) {
  return parse_json(schema_text(name), name);
}

TEST(Schemas, EnumsAreTheKnownValues) {
  const auto suite = schema("suite")["$defs"];
  const auto cell = schema("cell")["properties"];
  for (const auto axis :
       {Axis::precision, Axis::compile, Axis::checkpointing, Axis::memory_format, Axis::input, Axis::device}) {
    const std::string name(axis_name(axis));
    EXPECT_EQ(suite[name]["enum"], Json(axis_choices(axis))) << name;
    EXPECT_EQ(cell[name]["enum"], Json(axis_choices(axis))) << name;
  }
  EXPECT_EQ(cell["ddp"]["properties"]["transport"]["enum"], Json(known_transports()));
  EXPECT_EQ(cell["perturb"]["oneOf"][1]["properties"]["sleep"]["oneOf"][1]["properties"]["phase"]["enum"],
            Json(known_phases()));
}

TEST(Schemas, AxesAreAllThere) {
  const auto defs = schema("suite")["$defs"];
  for (const auto* group : {"axis_values", "axis_lists", "match"}) {
    EXPECT_EQ(defs[group]["properties"].size(), axis_names().size()) << group;
    for (const auto& name : axis_names()) EXPECT_TRUE(defs[group]["properties"].contains(name)) << group << " " << name;
    EXPECT_EQ(defs[group]["additionalProperties"], false);
  }
}

void expect_described(const Json& schema, const Json& value, const std::string& where) {
  ASSERT_TRUE(schema.contains("properties")) << where;
  EXPECT_EQ(schema["additionalProperties"], false) << where;
  for (const auto& [key, item] : value.items()) EXPECT_TRUE(schema["properties"].contains(key)) << where << "." << key;
  for (const auto& key : schema["required"]) EXPECT_TRUE(value.contains(key)) << where << "." << key;
}

TEST(Schemas, CellSchemaHasTheFieldsThatAreWritten) {
  const auto cell =
      to_json(suite_of("defaults: {workload: resnet18, perturb: {step_percent: 1, sleep: {phase: build, seconds: 1}, "
                       "fault: {kind: kill}}}\n")
                  .cells.at(0));
  const auto root = schema("cell");
  expect_described(root, cell, "cell");
  for (const auto* key : {"workload", "optimizer", "ddp", "measure", "limits", "requires"})
    expect_described(root["properties"][key], cell[key], key);
  const auto perturb = root["properties"]["perturb"]["oneOf"][1];
  expect_described(perturb, cell["perturb"], "perturb");
  expect_described(perturb["properties"]["sleep"]["oneOf"][1], cell["perturb"]["sleep"], "sleep");
  expect_described(perturb["properties"]["fault"]["oneOf"][1], cell["perturb"]["fault"], "fault");
}

}  // namespace
}  // namespace stepgauge::config
