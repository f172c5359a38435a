// A suite built on another: what is inherited, what is replaced, and chains that cannot end.
#include <fmt/format.h>
#include <sys/stat.h>

#include "support.hpp"

namespace stepgauge::config {
namespace {

const std::string base_text =
    "stepgauge: 1\nname: base\nlaunches: 5\nworkers: {peer: [a]}\n"
    "defaults: {device: cpu, workload: resnet18, batch: 4}\naxes: {precision: [fp32, bf16], ddp: [1, 2]}\n"
    "measure: {steps: 20, losses: 3}\nexclude: [{precision: bf16, ddp: 2}]\n";

TEST(Extends, MapsMergeByKeyAndListsReplace) {
  const Folder folder;
  folder.write("sub/base.yaml", base_text);
  const auto path =
      folder.write("child.yaml",
                   "stepgauge: 1\nname: child\nextends: sub/base.yaml\nworkers: {other: [b]}\n"
                   "defaults: {batch: 8}\naxes: {precision: [fp32]}\nmeasure: {steps: 30}\nexclude: []\n");
  const auto suite = load_suite(path);
  EXPECT_EQ(suite.name, "child");
  EXPECT_THAT(ids_of(suite),
              testing::ElementsAre("resnet18.b8/eager/fp32/cpu.ddp1", "resnet18.b8/eager/fp32/cpu.ddp2"));
  EXPECT_EQ(suite.cells[0].launches, 5);
  EXPECT_EQ(suite.cells[0].measure.steps, 30);
  EXPECT_EQ(suite.cells[0].measure.losses, 3);
  EXPECT_EQ(suite.workers.size(), 2u);
}

TEST(Extends, ErrorsNameTheFileThatHoldsThem) {
  const Folder folder;
  const auto base = folder.write("base.yaml", base_text + "tolerance: {nothing: 1%}\n");
  const auto child = folder.write("child.yaml", "stepgauge: 1\nname: c\nextends: base.yaml\n");
  expect_parts(error_of([&] { load_suite(child); }), base.string() + ":9:13: ", {"unknown metric \"nothing\""});
  folder.write("base.yaml", "stepgauge: 2\n");
  expect_parts(error_of([&] { load_suite(child); }), base.string() + ":1:12: ", {"newer"});
}

TEST(Extends, NameIsNotInherited) {
  const Folder folder;
  folder.write("base.yaml", base_text);
  const auto child = folder.write("child.yaml", "stepgauge: 1\nextends: base.yaml\n");
  expect_parts(error_of([&] { load_suite(child); }), child.string() + ":1:1: ", {"\"name\" is missing"});
}

TEST(Extends, CirclesAndLongChainsEnd) {
  const Folder folder;
  const auto a = folder.write("a.yaml", "stepgauge: 1\nname: a\nextends: ./b.yaml\n");
  const auto b = folder.write("b.yaml", "stepgauge: 1\nname: b\nextends: sub/../a.yaml\n");
  expect_parts(error_of([&] { load_suite(a); }), b.string() + ":3:10: ", {"circle"});
  const auto self = folder.write("self.yaml", "stepgauge: 1\nname: s\nextends: self.yaml\n");
  expect_parts(error_of([&] { load_suite(self); }), self.string() + ":3:10: ", {"circle"});
  for (int i = 0; i < 12; ++i) {
    folder.write(fmt::format("c{}.yaml", i), fmt::format("stepgauge: 1\nname: c\nextends: c{}.yaml\n", i + 1));
  }
  folder.write("c12.yaml", base_text);
  expect_parts(error_of([&] { load_suite(folder.path() / "c0.yaml"); }),
               (folder.path() / "c8.yaml").string() + ":3:10: ", {"more than 8"});
  EXPECT_EQ(load_suite(folder.path() / "c4.yaml").cells.size(), 3u);
}

TEST(Extends, ABaseMustBeAReadableFile) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  const auto place = [&](const std::string& name) {
    const auto path = folder.write("x.yaml", "stepgauge: 1\nname: x\nextends: " + name + "\n");
    return error_of([&] { load_suite(path); });
  };
  const auto start = (folder.path() / "x.yaml").string() + ":3:10: extends: ";
  expect_parts(place("gone.yaml"), start, {"gone.yaml", "cannot open"});
  expect_parts(place("fifo"), start, {"regular file"});
  expect_parts(place("."), start, {"regular file"});
  expect_parts(place("[a]"), start, {"expected the path of a suite", "found a list"});
}

}  // namespace
}  // namespace stepgauge::config
