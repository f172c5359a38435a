#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace stepgauge {

/// Names of the JSON Schemas built in: suite, cell, record, run, baseline, comparison, gate, history, trend, why,
/// bisect.
std::vector<std::string> schema_names();

/// Text of one schema; empty when there is none of that name.
std::string_view schema_text(std::string_view name);

}  // namespace stepgauge
