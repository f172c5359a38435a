// Whatever text or file a user hands over: an error with its place, never a hang and never a guess.
#include <fmt/format.h>
#include <sys/stat.h>

#include "support.hpp"

namespace stepgauge::config {
namespace {

TEST(YamlText, BrokenSyntaxNamesTheLine) {
  expect_error("axes: {precision: [fp32, bf16}\n", "3:30", {"not valid YAML"});
  expect_error("description: a: b\n", "3:15", {"not valid YAML"});
  expect_error("description: \"never closed\n", "3:1", {"not valid YAML", "not closed"});
}

TEST(YamlText, TabIndentationNamesItsLineAndColumn) {
  expect_error("defaults:\n\tdevice: cpu\n", "4:1", {"tab in the indentation", "spaces"});
  expect_error("defaults:\n  \tdevice: cpu\n", "4:3", {"tab in the indentation"});
  EXPECT_NO_THROW(suite_of("# note\n\t# a comment may be indented by anything\n\t\n" + one_cell));
}

TEST(YamlText, DuplicateKeysNameBothLines) {
  expect_error("launches: 3\nlaunches: 4\n" + one_cell, "4:1", {"\"launches\" stands twice", "line 3"});
  expect_error("defaults: {batch: 1, batch: 2}\n", "3:22", {"\"batch\" stands twice"});
  expect_error("defaults: {batch: 1, \"batch\": 2}\n", "3:22", {"\"batch\" stands twice"});
}

TEST(YamlText, MergeKeysTagsAndOddKeysAreRefused) {
  expect_error("defaults: &d {device: cpu}\nmeasure: {<<: *d}\n", "4:11", {"merge keys", "extends"});
  expect_error("launches: !!int 3\n", "3:11", {"tags are not supported"});
  expect_error("? [a, b]\n: 1\n", "3:3", {"key must be plain text"});
  expect_error("~: 1\n", "3:1", {"key is missing"});
}

TEST(YamlText, SecondDocumentIsRefused) {
  expect_error(one_cell + "---\nname: other\n", "4:1", {"second document"});
}

TEST(YamlText, AliasesWorkAndAreBounded) {
  const auto suite =
      suite_of("defaults: {device: cpu}\naxes: {workload: &w [resnet18, resnet34]}\ndescription: &d text\n");
  EXPECT_EQ(suite.cells.size(), 2u);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i)
    bomb +=
        fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  expect_text_error(bomb, "5:45", {"more than 100000 values", "aliases"});
  expect_error("axes: &a {workload: *a}\n", "3:21", {"alias of the value that it stands in"});
  expect_error("description: *nowhere\n", "3:14", {"anchor"});
}

TEST(YamlText, NestingIsBounded) {
  expect_text_error("a: " + std::string(400, '[') + std::string(400, ']'), "1:67", {"nested deeper than 64"});
  std::string maps;
  for (int i = 0; i < 100; ++i) maps += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  expect_text_error(maps, "65:65", {"nested deeper than 64"});
  expect_json_error(std::string(100000, '['), "1:65", {"nested deeper than 64"});
}

TEST(YamlText, EmptyAndWrongRoots) {
  for (const std::string text : {"", "\n\n", "# nothing\n", "---\n", "~\n", "--- \n...\n"})
    expect_text_error(text, "1:1", {"empty", "stepgauge: 1"});
  expect_text_error("- a\n- b\n", "1:1", {"expected a map", "found a list"});
  expect_text_error("hello\n", "1:1", {"expected a map", "found hello"});
  expect_json_error("", "1:1", {"empty"});
  expect_json_error("[1]", "1:1", {"expected a map", "found a list"});
}

TEST(Text, IsCleanUtf8) {
  expect_error("description: caf\xE9\n", "3:17", {"not valid UTF-8"});
  expect_error("description: \xC3", "3:14", {"not valid UTF-8"});
  expect_error(std::string("description: a") + '\0' + "b\n", "3:15", {"control character"});
  expect_text_error("\xFF\xFEs\0t", "1:1", {"not valid UTF-8"});
  EXPECT_EQ(suite_of("description: Z\xC3\xBCrich\n" + one_cell).description, "Z\xC3\xBCrich");
  EXPECT_EQ(parse_suite("\xEF\xBB\xBF" + header + one_cell, "t.yaml").name, "t");
}

TEST(JsonText, BrokenSyntaxNamesLineAndColumn) {
  expect_json_error("{\n  \"stepgauge\": 1,\n  \"name\": x\n}", "3:11", {"not valid JSON"});
  expect_json_error("{\"stepgauge\": 1,}", "1:17", {"not valid JSON"});
  expect_json_error("{\"stepgauge\": 1} {}", "1:18", {"not valid JSON"});
  expect_json_error("{\"stepgauge\": NaN}", "1:15", {"not valid JSON"});
  expect_json_error("{\"stepgauge\": 01}", "1:16", {"not valid JSON"});
  expect_json_error("// no\n{}", "1:1", {"not valid JSON"});
  expect_json_error("{\"name\": \"\\ud800\"}", "1:17", {"not valid JSON"});
  expect_json_error("{\"name\": \"a", "1:12", {"not valid JSON"});
}

TEST(JsonText, DuplicateAndUnknownKeysHaveTheirPlace) {
  expect_json_error("{\n \"stepgauge\": 1,\n \"name\": \"t\",\n \"name\": \"u\"\n}", "4:2",
                    {"\"name\" stands twice", "line 3"});
  expect_json_error("{\"stepgauge\": 1, \"name\": \"t\",\n\t\"axis\": {}}", "2:2",
                    {"unknown key \"axis\"", "\"axes\""});
  expect_json_error("{\"stepgauge\":1,\"name\":\"t\",\"launches\":-1,\"axes\":{}}", "1:38", {"launches", "found -1"});
  expect_json_error("{\"stepgauge\":1,\"name\":\"t\",\"axes\":{\"precision\":[\"fp32\",[]]}}", "1:55",
                    {"axes.precision[1]", "found a list"});
}

TEST(JsonText, EscapesGiveTheSameStrings) {
  const std::string body = R"(,"defaults":{"device":"cpu","workload":"resnet\u00318"}})";
  const auto suite = json_suite(R"({"stepgauge":1,"name":"t","description":"\"\\\/\t\u00fc\ud83d\ude00")" + body);
  EXPECT_EQ(suite.description, "\"\\/\t\xC3\xBC\xF0\x9F\x98\x80");
  EXPECT_EQ(suite.cells.at(0).workload.name, "resnet18");
}

TEST(Format, FollowsTheNameThenTheText) {
  const std::string json = R"({"stepgauge":1,"name":"t","defaults":{"device":"cpu","workload":"resnet18"}})";
  EXPECT_EQ(parse_suite(json, "t.json").cells.size(), 1u);
  EXPECT_EQ(parse_suite(json, "stdin").cells.size(), 1u);
  EXPECT_EQ(parse_suite(json, "t.yaml").cells.size(), 1u);  // JSON is YAML 1.2
  EXPECT_EQ(parse_suite(header + one_cell, "stdin").cells.size(), 1u);
  expect_parts(error_of([&] { parse_suite(header + one_cell, "t.json"); }), "t.json:1:1: ", {"not valid JSON"});
}

TEST(File, FoldersFifosAndLargeFilesAreRefusedAtOnce) {
  const Folder folder;
  const auto fifo = folder.path() / "fifo.yaml";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_parts(error_of([&] { load_suite(fifo); }), fifo.string() + ": ", {"regular file"});
  expect_parts(error_of([&] { load_suite(folder.path()); }), folder.path().string() + ": ", {"regular file", "folder"});
  expect_parts(error_of([&] { load_suite("/dev/zero"); }), "/dev/zero: ", {"regular file"});
  const auto gone = folder.path() / "gone.yaml";
  expect_parts(error_of([&] { load_suite(gone); }), gone.string() + ": ", {"cannot open", "No such file"});
  const auto large = folder.write("large.yaml", std::string(max_document_bytes + 1, '#'));
  expect_parts(error_of([&] { load_suite(large); }), large.string() + ": ", {"1048577 bytes", "1048576"});
  expect_parts(error_of([&] { parse_suite(std::string(max_document_bytes + 1, '#'), "t.yaml"); }),
               "t.yaml: ", {"1 MiB"});
}

TEST(File, ManyValuesAreRefused) {
  std::string text = "a: [";
  for (int i = 0; i < 200000; ++i) text += "1,";
  expect_text_error(text + "1]\n", "1:199999", {"more than 100000 values"});
}

}  // namespace
}  // namespace stepgauge::config
