#include "config/config_error.hpp"

#include <fmt/format.h>

namespace stepgauge::config {
namespace {

std::string full_text(const std::string& file, int line, int column, std::string_view message) {
  if (file.empty()) return std::string(message);
  if (line == 0) return fmt::format("{}: {}", file, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

}  // namespace

ConfigError::ConfigError(const std::string& file_name, int line_number, int column_number, std::string_view message)
    : std::runtime_error(full_text(file_name, line_number, column_number, message)),
      file(file_name),
      line(line_number),
      column(column_number) {}

}  // namespace stepgauge::config
