#pragma once
// `report` of a verdict: a gate's folder, its gate.json, or what `compare --json` printed.
#include <optional>
#include <string>

#include "contract/json_io.hpp"
#include "contract/status.hpp"

namespace stepgauge::cli {

struct VerdictDocument {
  std::string path;  ///< of the JSON file
  Json value;        ///< schema "gate" or "comparison"
};

/// nullopt when `source` is anything else. Throws ContractError for a file that is no JSON, or a gate without a
/// verdict: it says how to go on with that.
std::optional<VerdictDocument> find_verdict(const std::string& source);

struct VerdictOutput {
  bool json = false, markdown = false;
  std::string out;    ///< file for the Markdown
  std::string junit;  ///< file for the XML
  std::string again;  ///< command to measure it again that the Markdown gives; empty: the one that made it
};

/// The verdict's table on standard output, or what is asked for instead. Throws ContractError for a document that does
/// not follow its schema or does not agree with itself.
void show_verdict(const VerdictDocument& document, const VerdictOutput& output);

}  // namespace stepgauge::cli
