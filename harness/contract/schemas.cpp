#include "contract/schemas.hpp"

#include <fmt/format.h>

#include "embedded_schemas.hpp"

namespace stepgauge {

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const auto& [path, text] : embedded_schemas::embedded_files()) {
    const auto begin = path.rfind('/') + 1;
    names.push_back(path.substr(begin, path.find('.', begin) - begin));
  }
  return names;
}

std::string_view schema_text(std::string_view name) {
  const auto& files = embedded_schemas::embedded_files();
  const auto it = files.find(fmt::format("harness/contract/schemas/{}.schema.json", name));
  return it == files.end() ? std::string_view{} : it->second;
}

}  // namespace stepgauge
