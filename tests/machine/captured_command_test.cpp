#include "machine/captured_command.hpp"

#include <gmock/gmock.h>

namespace stepgauge::machine {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(CapturedCommand, IsWhatTheProgramSaid) {
  const auto done = run_captured({"/bin/sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_EQ(done.out, "out\n");
  EXPECT_EQ(done.problem(), "last");
  EXPECT_THAT(run_captured({"no-such-program-here"}).problem(), HasSubstr("cannot start"));
}

TEST(CapturedCommand, WhatDoesNotEndIsKilled) {
  const auto began = std::chrono::steady_clock::now();
  const auto done = run_captured({"/bin/sleep", "60"}, 1u << 20, 1s);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s) << "a daemon that hangs would hang the launch";
  EXPECT_EQ(done.exit_code, -1);
  EXPECT_EQ(done.problem(), "no end after 1 s");
  EXPECT_EQ(run_captured({"/bin/echo", "quick"}, 1u << 20, 30s).out, "quick\n");
}

}  // namespace
}  // namespace stepgauge::machine
