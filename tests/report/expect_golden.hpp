#pragma once
// Output that a user reads, frozen in tests/report/golden; STEPGAUGE_UPDATE_GOLDEN=1 takes what is printed now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "contract/json_io.hpp"

namespace stepgauge::testing {

inline void expect_golden(const std::string& name, const std::string& text) {
  const char* source = std::getenv("STEPGAUGE_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "run through ctest, or set STEPGAUGE_SOURCE_DIR";
  const auto path = std::filesystem::path(source) / "tests/report/golden" / name;
  if (std::getenv("STEPGAUGE_UPDATE_GOLDEN") != nullptr) write_text_file(path, text);
  EXPECT_EQ(text, read_text_file(path)) << name;
}

}  // namespace stepgauge::testing
