#pragma once
// A suite with some settings changed in every cell: what one arm of a gate measures beside the other.
#include <string>
#include <vector>

#include "config/matrix.hpp"
#include "config/node.hpp"

namespace stepgauge::config {

/// The map of axes that "KEY=VALUE" texts set. KEY is an axis, or a path into its map ("perturb.step_percent"), VALUE
/// is YAML as it would stand in the suite. `origin` names them in errors. Throws ConfigError for a text without "=", an
/// empty part of the path, a path that is set twice, or a value that is no YAML.
NodePtr read_settings(const std::vector<std::string>& settings, const std::string& origin);

/// Changes every cell as an override that matches all of them and stands last would. Only axes can be set: both arms
/// are measured and judged alike. Throws ConfigError.
void add_variant(const Node& set, const std::vector<std::string>& workers, Matrix& matrix);

}  // namespace stepgauge::config
