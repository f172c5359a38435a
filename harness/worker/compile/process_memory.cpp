#include "worker/compile/process_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>

namespace stepgauge::worker {

ProcessMemory ProcessMemory::now() {
  constexpr double mib = 1024.0 * 1024.0;
  ProcessMemory out;
  const auto heap = ::mallinfo2();
  out.heap_mib = static_cast<double>(heap.uordblks + heap.hblkhd) / mib;
  long total = 0, resident = 0;
  if (auto* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) == 2)
      out.rss_mib = static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / mib;
    std::fclose(file);
  }
  return out;
}

}  // namespace stepgauge::worker
