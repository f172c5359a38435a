#include "contract/json_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <clocale>
#include <filesystem>
#include <limits>

#include "../support/temporary_folder.hpp"

namespace stepgauge {
namespace {

using testing::HasSubstr;

using test::TemporaryFolder;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ContractError& error) {
    return error.what();
  }
  return "";
}

TEST(JsonIo, NumbersThatAreNotFiniteNeverReachAFile) {
  const Json value{{"metrics", {{"a", {1.0, std::numeric_limits<double>::quiet_NaN()}}}}};
  EXPECT_THAT(error_of([&] { dump_line(value); }), HasSubstr("/metrics/a/1: the number is not finite"));
  EXPECT_THAT(error_of([&] { dump_pretty(Json(std::numeric_limits<double>::infinity())); }), HasSubstr("not finite"));
}

TEST(JsonIo, ParsingIsStrict) {
  EXPECT_THAT(error_of([] { parse_json(R"({"a": 1, "b": {"a": 2}, "a": 3})", "f.json"); }),
              HasSubstr("f.json: key \"a\" stands twice"));
  EXPECT_THAT(error_of([] { parse_json("{\"a\": NaN}", "f.json"); }), HasSubstr("f.json: not valid JSON"));
  EXPECT_THAT(error_of([] { parse_json("{\"a\": 1", "f.json"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of([] { parse_json("{} {}", "f.json"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of([] { parse_json("", "f.json"); }), HasSubstr("not valid JSON"));
}

TEST(JsonIo, OutputDoesNotDependOnTheLocale) {
  const Json value{{"x", 4.97}, {"big", 1234567.5}};
  const auto plain = dump_line(value);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
    std::setlocale(LC_ALL, locale);
    EXPECT_EQ(dump_line(value), plain);
    EXPECT_EQ(parse_json(plain, "f"), value);
  }
  std::setlocale(LC_ALL, "C");
}

TEST(JsonIo, InvalidUtf8BecomesAValidFile) {
  const auto text = dump_line(Json{{"line", "\xff\xfe ok"}});
  EXPECT_EQ(parse_json(text, "f").at("line").get<std::string>(), "\xef\xbf\xbd\xef\xbf\xbd ok");
}

TEST(JsonIo, WhatIsNoRegularFileIsRefusedWithoutBlocking) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { read_text_file(folder.path()); }), HasSubstr("expected a regular file, found a folder"));
  const auto fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { read_text_file(fifo); }), HasSubstr("special file"));
  EXPECT_THAT(error_of([&] { read_text_file(folder.path() / "nothing"); }), HasSubstr("No such file"));
}

TEST(JsonIo, WritingReplacesWholeFilesOnly) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.json";
  write_text_file(file, "old");
  write_text_file(file, "new");
  EXPECT_EQ(read_text_file(file), "new");
  EXPECT_THAT(error_of([&] { read_text_file(file, 2); }), HasSubstr("3 bytes, at most 2 are read"));
  EXPECT_THROW(write_text_file(folder.path() / "missing" / "a.json", "x"), std::system_error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "temporary files stay behind";
}

}  // namespace
}  // namespace stepgauge
