// Each field has one type, and the text is read by it: no loader's guess about 1e-3, off or "8" reaches a cell.
#include "config/reader.hpp"

#include "support.hpp"

namespace stepgauge::config {
namespace {

double lr_of(const std::string& text) {
  return suite_of("defaults: {device: cpu, workload: resnet18, optimizer: {lr: " + text + "}}\n")
      .cells.at(0)
      .optimizer.lr;
}

double json_lr_of(const std::string& text) {
  return json_suite(R"({"stepgauge":1,"name":"t","defaults":{"device":"cpu","workload":"resnet18","optimizer":{"lr":)" +
                    text + "}}}")
      .cells.at(0)
      .optimizer.lr;
}

TEST(Numbers, ScientificNotationIsANumberInBothFormats) {
  for (const auto* text : {"1e-3", "1.0e-3", "1E-3", ".001", "0.001", "+.001", "1.e-3"})
    EXPECT_EQ(lr_of(text), 0.001) << text;
  for (const auto* text : {"1e-3", "1.0e-3", "1E-3", "0.001"}) EXPECT_EQ(json_lr_of(text), 0.001) << text;
  EXPECT_EQ(lr_of("0"), 0.0);
  EXPECT_FALSE(std::signbit(lr_of("-0.0")));
}

TEST(Numbers, WhatIsNoNumberIsRefusedWithAHint) {
  const std::string start = "defaults: {workload: resnet18, optimizer: {lr: ";
  const auto refused = [&](const std::string& text, std::initializer_list<const char*> parts) {
    expect_error(start + text + "}}\n", "3:48", parts);
  };
  refused("1_000", {"defaults.optimizer.lr", "expected a number", "found 1_000", "without underscores"});
  refused("0x10", {"expected a number", "found 0x10", "in decimal"});
  refused("0o17", {"found 0o17", "in decimal"});
  refused(".inf", {"expected a number", "found .inf", "finite"});
  refused("-.inf", {"finite"});
  refused(".nan", {"found .nan", "finite"});
  refused("nan", {"finite"});
  refused("\"1e-3\"", {"expected a number", "the string \"1e-3\"", "remove the quotes"});
  refused("'0.1'", {"remove the quotes"});
  refused("25MB", {"expected a number", "found 25MB", "without a unit"});
  refused("1e", {"expected a number"});
  refused(".", {"expected a number"});
  refused("1e999", {"expected a number from 0 to 1000"});
  refused("-1", {"expected a number from 0 to 1000", "found -1"});
  refused("on", {"expected a number, found on"});
  refused("~", {"expected a number, found nothing"});
  refused("[1]", {"expected a number, found a list"});
  refused("{}", {"expected a number, found a map"});
  expect_json_error(R"({"stepgauge":1,"name":"t","defaults":{"optimizer":{"lr":"0.1"}}})", "1:57",
                    {"remove the quotes"});
}

TEST(Integers, AreDigitsOnly) {
  const auto refused = [&](const std::string& text, std::initializer_list<const char*> parts) {
    expect_error("defaults: {workload: resnet18, batch: " + text + "}\n", "3:39", parts);
  };
  refused("25.0", {"defaults.batch", "expected an integer, found 25.0", "digits only"});
  refused("1e3", {"expected an integer, found 1e3"});
  refused("\"8\"", {"the string \"8\"", "remove the quotes"});
  refused("0x10", {"in decimal"});
  refused("1_000", {"underscores"});
  refused("0", {"from 1 to 1000000", "found 0"});
  refused("1000001", {"from 1 to 1000000"});
  refused("99999999999999999999", {"from 1 to 1000000"});
  refused("true", {"expected an integer, found true"});
  expect_json_error(R"({"stepgauge":1,"name":"t","defaults":{"batch":8.0}})", "1:47", {"found 8.0", "digits only"});
  EXPECT_EQ(suite_of("defaults: {device: cpu, workload: resnet18, batch: 010}\n").cells[0].batch, 10);  // YAML 1.2
}

TEST(Booleans, AreTrueAndFalseAlone) {
  const auto view_of = [](const std::string& text) {
    return suite_of("defaults: {device: cpu, workload: resnet18, ddp: {static_graph: " + text + "}}\n")
        .cells.at(0)
        .ddp.static_graph;
  };
  for (const auto* text : {"true", "True", "TRUE"}) EXPECT_TRUE(view_of(text));
  for (const auto* text : {"false", "False", "FALSE"}) EXPECT_FALSE(view_of(text));
  const auto refused = [&](const std::string& text, std::initializer_list<const char*> parts) {
    expect_error("defaults: {ddp: {static_graph: " + text + "}}\n", "3:32", parts);
  };
  for (const auto* text : {"on", "On", "yes", "Y", "1"}) refused(text, {"expected true or false", text, "write true"});
  for (const auto* text : {"off", "OFF", "no", "n", "0"})
    refused(text, {"expected true or false", text, "write false"});
  refused("\"true\"", {"remove the quotes"});
  refused("tRuE", {"expected true or false, found tRuE"});
}

TEST(Choices, WordsOfYaml11StayWords) {
  expect_error("defaults: {compile: off}\n", "3:21", {"defaults.compile", "unknown value \"off\"", "eager"});
  expect_error("defaults: {compile: no}\n", "3:21", {"unknown value \"no\""});
  expect_error("defaults: {compile: false}\n", "3:21", {"unknown value \"false\""});
  expect_error("on: 1\n", "3:1", {"unknown key \"on\""});
  expect_error("defaults: {precision: bf61}\n", "3:23", {"unknown value \"bf61\"", "did you mean \"bf16\""});
  expect_error("defaults: {checkpointing: ~}\n", "3:27", {"expected a checkpointing policy or a map, found nothing"});
  expect_error("defaults:\n  precision:\n  batch: 1\n", "4:3", {"defaults.precision", "found nothing"});
}

TEST(Durations, HaveAUnitOrAreSeconds) {
  const auto launch = [](const std::string& text) {
    return suite_of("limits: {launch: " + text + "}\n" + one_cell).cells[0].limits.launch_s;
  };
  EXPECT_EQ(launch("90s"), 90);
  EXPECT_EQ(launch("\"90s\""), 90);
  EXPECT_EQ(launch("1.5m"), 90);
  EXPECT_EQ(launch("1h"), 3600);
  EXPECT_EQ(launch("250ms"), 0.25);
  EXPECT_EQ(launch("12.5"), 12.5);
  for (const auto* text : {"10min", "s", "1h30m", "\"90\"", "[1]", "-5s", "0", "1d", "nan", "800h"})
    expect_error("limits: {launch: " + std::string(text) + "}\n", "3:18", {"limits.launch", "duration"});
}

TEST(Percentages, AreExactAndNeverAHundredTimesTooLarge) {
  const auto relative = [](const std::string& text) {
    return *suite_of("tolerance: {throughput: " + text + "}\n" + one_cell).cells[0].tolerance.at("throughput").relative;
  };
  EXPECT_EQ(relative("5%"), 0.05);
  EXPECT_EQ(relative("0.7%"), 0.007);
  EXPECT_EQ(relative("1e1%"), 0.1);
  EXPECT_EQ(relative("\"5%\""), 0.05);
  EXPECT_EQ(relative("0.05"), 0.05);
  expect_error("tolerance: {throughput: 5}\n", "3:25", {"tolerance.throughput", "found 5", "write 5%"});
  expect_error("tolerance: {throughput: 500%}\n", "3:25", {"tolerance.throughput", "500%"});
  expect_error("tolerance: {throughput: \"0.05\"}\n", "3:25", {"percentage such as 5%"});
  expect_error("tolerance: {throughput: five%}\n", "3:25", {"percentage such as 5%"});
}

TEST(Text, ScalarsAreTakenAsWritten) {
  const auto suite = suite_of("description: 1.10\n" + one_cell);
  EXPECT_EQ(suite.description, "1.10");
  expect_error("description: \"a\\u0001b\"\n", "3:14", {"control character"});
  expect_error("description: [a]\n", "3:14", {"expected a string, found a list"});
}

}  // namespace
}  // namespace stepgauge::config
