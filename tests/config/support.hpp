#pragma once
// Short ways to read a suite from a text and to expect an error at one place with given words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "../support/temporary_folder.hpp"
#include "config/suite.hpp"

namespace stepgauge::config {

inline const std::string header = "stepgauge: 1\nname: t\n";

/// A suite with `body` from line 3 on.
inline Suite suite_of(const std::string& body) {
  return parse_suite(header + body, "t.yaml", Format::yaml);
}

inline Suite json_suite(const std::string& text) {
  return parse_suite(text, "t.json", Format::json);
}

inline std::vector<std::string> ids_of(const Suite& suite) {
  std::vector<std::string> ids;
  for (const auto& cell : suite.cells) ids.push_back(cell.id.substr(0, cell.id.size() - 9));
  return ids;
}

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "no error";
}

inline void expect_parts(const std::string& error, const std::string& start, std::initializer_list<const char*> parts) {
  EXPECT_EQ(error.substr(0, start.size()), start) << error;
  for (const auto* part : parts) EXPECT_THAT(error, testing::HasSubstr(part));
}

/// The suite `header + body` (YAML) fails at `line:column`.
inline void expect_error(const std::string& body, const std::string& at, std::initializer_list<const char*> parts) {
  SCOPED_TRACE(body);
  expect_parts(error_of([&] { suite_of(body); }), "t.yaml:" + at + ": ", parts);
}

/// The whole text (YAML) fails at `line:column`.
inline void expect_text_error(const std::string& text, const std::string& at,
                              std::initializer_list<const char*> parts) {
  SCOPED_TRACE(text.substr(0, 200));
  expect_parts(error_of([&] { parse_suite(text, "t.yaml", Format::yaml); }), "t.yaml:" + at + ": ", parts);
}

inline void expect_json_error(const std::string& text, const std::string& at,
                              std::initializer_list<const char*> parts) {
  SCOPED_TRACE(text.substr(0, 200));
  expect_parts(error_of([&] { json_suite(text); }), "t.json:" + at + ": ", parts);
}

using Folder = test::TemporaryFolder;

inline const std::string one_cell = "defaults: {device: cpu, workload: resnet18}\n";

}  // namespace stepgauge::config
