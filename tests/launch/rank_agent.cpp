// `stepgauge rank-agent` by itself, as the tests of engines start it: the sanitized build goes without the command
// line.
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/interrupt.hpp"
#include "launch/rank_agent.hpp"

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "rank-agent") {
    std::fprintf(stderr, "usage: %s rank-agent FOLDER\n", argv[0]);
    return 2;
  }
  try {
    const stepgauge::cli::InterruptWatch signals;
    stepgauge::launch::run_rank_agent(argv[2], signals.fd());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stepgauge: %s\n", error.what());
    return 2;
  }
  return 0;
}
