#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace stepgauge::config {

/// A suite, or a selection of its cells, that cannot be used. what() is `file:line:column: message`; without a
/// line (the file itself is the trouble) `file: message`; without a file (command line) the message alone.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(const std::string& file_name, int line_number, int column_number, std::string_view message);

  std::string file;
  int line = 0;    ///< from 1; 0: the whole file
  int column = 0;  ///< from 1, in bytes
};

}  // namespace stepgauge::config
