#pragma once
// What an intermediate representation costs the process.
namespace stepgauge::worker {

struct ProcessMemory {
  double heap_mib = 0;  ///< bytes that malloc has handed out (mallinfo2)
  double rss_mib = 0;   ///< resident set (/proc/self/statm)

  static ProcessMemory now();
};

}  // namespace stepgauge::worker
