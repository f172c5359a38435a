#include "cli/utc.hpp"

#include <ctime>

namespace stepgauge::cli {

std::string utc_now(const char* format) {
  const auto now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char buffer[64];
  return {buffer, std::strftime(buffer, sizeof buffer, format, &parts)};
}

}  // namespace stepgauge::cli
