// stepgauge-worker: one process per rank, started by stepgauge (docs/worker_contract.md).
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "contract/clock.hpp"
#include "worker/rank_environment.hpp"
#include "worker/rank_program.hpp"

int main(int argc, char** argv) {
  const auto entered = stepgauge::monotonic_ns();
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("stepgauge-worker %s\n", STEPGAUGE_VERSION);
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "--describe") == 0) return stepgauge::worker::describe_build();
  if (argc > 1) {
    std::fprintf(
        stderr,
        "stepgauge-worker takes no arguments but --version and --describe; it is told everything by its environment "
        "(docs/worker_contract.md)\n");
    return 2;
  }
  const int code = stepgauge::worker::run_rank(entered);
  std::fflush(nullptr);
  ::_exit(code);  // no static destructors: with CUDA, NCCL and an interpreter loaded their order is nobody's
                  // promise
}
