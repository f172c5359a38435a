#pragma once
#include <fstream>
#include <string>

/// Largest resident size since the last reset, MiB.
inline double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

inline void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}
