// The fingerprint: too little in it compares different machines, too much refuses the same one (C18).
#include "store/fingerprint.hpp"

#include <gtest/gtest.h>

namespace stepgauge::store {
namespace {

Json machine(int gpus = 2, const std::string& name = "NVIDIA H200", double memory = 143771) {
  Json out{{"kernel", "6.1"},
           {"driver_version", "570.1"},
           {"cpu", {{"model", "Intel(R) Xeon(R) Processor"}, {"usable_cores", 32}, {"sockets", 2}, {"numa_nodes", 2}}},
           {"gpus", Json::array()},
           {"links", Json::array()}};
  for (int i = 0; i < gpus; ++i) {
    out["gpus"].push_back({{"index", i}, {"name", name}, {"uuid", "GPU-" + std::to_string(i)}, {"memory_mib", memory}});
    for (int j = 0; j < i; ++j) out["links"].push_back({{"a", j}, {"b", i}, {"kind", "nvlink"}, {"nvlinks", 18}});
  }
  return out;
}

TEST(Fingerprint, StableFieldsOnly) {
  const auto reference = fingerprint(machine(), true);
  auto other = machine();
  other["driver_version"] = "580.0";
  other["kernel"] = "6.8";
  other["gpus"][0]["index"] = 5;
  other["gpus"][0]["uuid"] = "GPU-other";
  std::swap(other["links"][0]["a"], other["links"][0]["b"]);
  EXPECT_EQ(fingerprint(other, true), reference);
  EXPECT_EQ(fingerprint(Json{{"machine", machine()}}, true), reference);
}

TEST(Fingerprint, WhatMakesRunsIncomparable) {
  const auto reference = fingerprint(machine(), true);
  EXPECT_NE(fingerprint(machine(4), true), reference);
  EXPECT_NE(fingerprint(machine(2, "NVIDIA H100"), true), reference);
  EXPECT_NE(fingerprint(machine(2, "NVIDIA H200", 81559), true), reference);
  auto linked = machine();
  linked["links"][0]["kind"] = "pcie.system";
  EXPECT_NE(fingerprint(linked, true), reference);
  auto cores = machine();
  cores["cpu"]["usable_cores"] = 16;
  EXPECT_NE(fingerprint(cores, true), reference);
  auto model = machine();
  model["cpu"]["model"] = "AMD EPYC";
  EXPECT_NE(fingerprint(model, true), reference);
}

TEST(Fingerprint, OnGpusARunThatIsBoundToSomeCoresIsOfTheSameMachine) {
  auto whole = machine(), bound = machine();
  whole["cpu"]["cores"] = bound["cpu"]["cores"] = 32;
  bound["cpu"]["usable_cores"] = 16;
  EXPECT_EQ(fingerprint(bound, true), fingerprint(whole, true));
  EXPECT_EQ(fingerprint(whole, true), fingerprint(machine(), true)) << "baselines of before are still this machine's";
  EXPECT_NE(fingerprint(bound, false), fingerprint(whole, false));
}

TEST(Fingerprint, MemoryIsTheNominalSize) {
  EXPECT_EQ(fingerprint(machine(2, "NVIDIA H200", 143156), true), fingerprint(machine(2, "NVIDIA H200", 143771), true));
  EXPECT_EQ(fingerprint(machine(1, "x", 81559), true)["gpus"][0]["memory_gib"], 80);
  EXPECT_EQ(fingerprint(machine(1, "x", 40960), true)["gpus"][0]["memory_gib"], 40);
}

TEST(Fingerprint, CpuRunsLookAtTheCpuAlone) {
  EXPECT_EQ(fingerprint(machine(2), false), fingerprint(machine(0), false));
  EXPECT_FALSE(fingerprint(machine(2), false).contains("gpus"));
}

TEST(Fingerprint, MissingMachineDataIsEmpty) {
  EXPECT_EQ(fingerprint(Json::object(), false), Json::object());
  EXPECT_EQ(fingerprint(nullptr, true), Json::object());
  EXPECT_EQ(fingerprint(machine(0), true), Json::object());
  auto unknown = machine();
  unknown["cpu"]["model"] = "unknown";
  EXPECT_EQ(fingerprint(unknown, false), Json::object());
  auto odd = machine();
  odd["gpus"][1].erase("memory_mib");
  EXPECT_EQ(fingerprint(odd, true), Json::object());
}

TEST(Fingerprint, SlugIsReadableAndTellsMachinesApart) {
  const auto slug = fingerprint_slug(fingerprint(machine(), true));
  EXPECT_EQ(slug.rfind("2x-nvidia-h200-nvlink-", 0), 0u) << slug;
  EXPECT_EQ(slug.size(), std::string("2x-nvidia-h200-nvlink-").size() + 8);
  const auto cpu = fingerprint_slug(fingerprint(machine(), false));
  EXPECT_EQ(cpu.rfind("cpu-intel-r-xeon-r-processor-32c-", 0), 0u) << cpu;
  auto cores = machine();
  cores["cpu"]["usable_cores"] = 16;
  EXPECT_NE(fingerprint_slug(fingerprint(cores, true)), slug);
  EXPECT_EQ(fingerprint_slug(Json::object()), "unknown-machine");
}

TEST(Fingerprint, WhatIsGoneOnWithElsewhereNamesBothMachines) {
  const auto here = fingerprint(machine(), true), there = fingerprint(machine(), false);
  EXPECT_EQ(moved_text(here, here), "");
  EXPECT_EQ(moved_text(there, here), "began on another machine (" + fingerprint_slug(there) + ", this is " +
                                         fingerprint_slug(here) + "); start a new one");
}

}  // namespace
}  // namespace stepgauge::store
