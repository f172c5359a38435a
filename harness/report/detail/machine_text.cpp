#include "report/detail/machine_text.hpp"

#include <fmt/format.h>

namespace stepgauge::report::detail {

std::string machine_text(const Json& fingerprint) {
  std::string out;
  for (const auto& gpu : fingerprint.value("gpus", Json::array())) {
    out += fmt::format("{}{} x {} ({} GiB)", out.empty() ? "" : ", ", gpu.value("count", 0),
                       gpu.value("model", std::string()), gpu.value("memory_gib", 0));
  }
  const auto links = fingerprint.value("links", Json::object());
  for (const auto& [kind, pairs] : links.items()) {
    out += fmt::format(", {} ({} pair{})", kind, pairs.dump(), pairs == 1 ? "" : "s");
  }
  const auto cpu = fingerprint.value("cpu", Json::object());
  if (cpu.empty()) return out.empty() ? "unknown" : out;
  return out + fmt::format("{}{}, {} cores", out.empty() ? "" : "; ", cpu.value("model", std::string()),
                           cpu.value("cores", 0));
}

}  // namespace stepgauge::report::detail
