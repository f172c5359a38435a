#pragma once
#include <memory>
#include <string>

#include "config/node.hpp"

namespace stepgauge::config::detail {

using FileName = std::shared_ptr<const std::string>;

/// nullptr when the text holds no document. Text is valid UTF-8 without a byte order mark.
NodePtr parse_yaml_tree(const std::string& text, const FileName& file);
NodePtr parse_json_tree(const std::string& text, const FileName& file);

}  // namespace stepgauge::config::detail
