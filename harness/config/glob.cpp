#include "config/glob.hpp"

#include <fnmatch.h>

namespace stepgauge::config {

bool glob_match(const std::string& glob, const std::string& text) {
  return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace stepgauge::config
