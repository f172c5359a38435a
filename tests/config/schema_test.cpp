// The schemas name the same values and keys as the reader; a user's editor must not refuse what the product takes.
#include "contract/schemas.hpp"

#include <regex>

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
  for (const auto axis : {Axis::precision, Axis::cache, Axis::memory_format, Axis::input, Axis::device}) {
    const std::string name(axis_name(axis));
    EXPECT_EQ(suite[name]["enum"], Json(axis_choices(axis))) << name;
    EXPECT_EQ(cell[name]["enum"], Json(axis_choices(axis))) << name;
  }
  EXPECT_EQ(suite["compile_mode"]["enum"], Json(known_compile_modes()));
  EXPECT_EQ(cell["compile"]["enum"], Json(known_compile_modes()));
  EXPECT_EQ(cell["ddp"]["properties"]["transport"]["enum"], Json(known_transports()));
  EXPECT_EQ(suite["perturb"]["oneOf"][1]["properties"]["wrong"]["enum"], Json(known_wrongs()));
  EXPECT_EQ(cell["perturb"]["oneOf"][1]["properties"]["wrong"]["enum"], Json(known_wrongs()));
  EXPECT_EQ(cell["perturb"]["oneOf"][1]["properties"]["sleep"]["oneOf"][1]["properties"]["phase"]["enum"],
            Json(known_phases()));
}

TEST(Schemas, CheckpointingIsAPatternThatFitsTheKnownValues) {
  const auto cell = schema("cell")["properties"]["checkpointing"]["pattern"].get<std::string>();
  EXPECT_EQ(schema("suite")["$defs"]["checkpointing"]["oneOf"][0]["pattern"], cell);
  const std::regex pattern(cell);
  for (const auto& name : known_checkpointing()) EXPECT_TRUE(std::regex_match(name, pattern)) << name;
  for (const auto* name : {"every_1", "every_9", "selective.reentrant", "none.reentrant", "ful"})
    EXPECT_FALSE(std::regex_match(name, pattern)) << name;
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
  for (const auto& key : schema.value("required", Json::array()))
    EXPECT_TRUE(value.contains(key)) << where << "." << key;
}

TEST(Schemas, CellSchemaHasTheFieldsThatAreWritten) {
  const auto cell = to_json(
      suite_of("defaults: {workload: resnet18, perturb: {step_percent: 1, sleep: {phase: build, seconds: 1}, wrong: "
               "recompile, fault: {kind: kill}}, ddp: 2, compile: {mode: compile.default, fullgraph: true, dynamic: "
               "off, ddp_optimizer: false, compiled_autograd: true, compile_optimizer: true}}\n")
          .cells.at(0));
  const auto root = schema("cell");
  expect_described(root, cell, "cell");
  for (const auto* key : {"workload", "optimizer", "ddp", "measure", "limits", "requires", "compile_options"})
    expect_described(root["properties"][key], cell[key], key);
  const auto perturb = root["properties"]["perturb"]["oneOf"][1];
  expect_described(perturb, cell["perturb"], "perturb");
  expect_described(perturb["properties"]["sleep"]["oneOf"][1], cell["perturb"]["sleep"], "sleep");
  expect_described(perturb["properties"]["fault"]["oneOf"][1], cell["perturb"]["fault"], "fault");
}

}  // namespace
}  // namespace stepgauge::config
