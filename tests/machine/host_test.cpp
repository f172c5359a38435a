#include "machine/host.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace stepgauge::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Host, ReadsTheKernelsFiles) {
  EXPECT_EQ(pretty_name("NAME=\"X\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(pretty_name("PRETTY_NAME=Arch\n"), "Arch");
  EXPECT_EQ(pretty_name(""), "unknown");
  const auto cpuinfo = "model name\t: Xeon A\nphysical id\t: 0\n\nmodel name\t: Xeon A\nphysical id\t: 1\n";
  EXPECT_EQ(cpu_model(cpuinfo), "Xeon A");
  EXPECT_EQ(socket_count(cpuinfo), 2);
  EXPECT_EQ(socket_count(""), 1);
  EXPECT_DOUBLE_EQ(total_memory_gib("MemFree: 1 kB\nMemTotal:       33554432 kB\n"), 32);
  EXPECT_EQ(quota_cores("200000 100000\n"), 2);
  EXPECT_EQ(quota_cores("150000 100000"), 1.5);
  EXPECT_FALSE(quota_cores("max 100000"));
  EXPECT_FALSE(quota_cores(""));
}

TEST(VisibleDevices, FollowCudasRules) {
  const std::vector<std::string> uuids{"GPU-aa11", "GPU-aa22", "GPU-bb33"};
  EXPECT_THAT(visible_devices(std::nullopt, uuids), ElementsAre(0, 1, 2));
  EXPECT_THAT(visible_devices("", uuids), IsEmpty());
  EXPECT_THAT(visible_devices("2,0", uuids), ElementsAre(2, 0));
  EXPECT_THAT(visible_devices("1,7,0", uuids), ElementsAre(1)) << "the list ends at the first bad entry";
  EXPECT_THAT(visible_devices("-1", uuids), IsEmpty());
  EXPECT_THAT(visible_devices("GPU-bb, 1", uuids), ElementsAre(2, 1));
  EXPECT_THAT(visible_devices("NoDevFiles", uuids), IsEmpty());
}

TEST(Inspect, DescribesThisMachine) {
  const auto machine = inspect();
  EXPECT_THAT(machine.os, Not(IsEmpty()));
  EXPECT_THAT(machine.kernel, ::testing::StartsWith("Linux "));
  EXPECT_GE(machine.cpu.usable_cores, 1);
  EXPECT_GE(machine.cpu.cores, machine.cpu.usable_cores);
  EXPECT_GT(machine.memory_gib, 0.1);
  EXPECT_EQ(machine.gpus.empty(), !machine.gpus_absent.empty()) << "no GPU needs a reason, and only then";
  EXPECT_EQ(machine.links.size(), machine.gpus.size() * (machine.gpus.empty() ? 0 : machine.gpus.size() - 1) / 2);
  const auto json = to_json(machine);
  EXPECT_EQ(parse_json(dump_line(json), "machine"), json);
  EXPECT_EQ(json.at("gpus").size(), machine.gpus.size());
}

TEST(Inspect, WithoutADriverSaysSo) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a driver";
  EXPECT_THAT(inspect().gpus_absent, Not(IsEmpty()));
  EXPECT_FALSE(gpu_memory_used_mib(0));
}

}  // namespace
}  // namespace stepgauge::machine
