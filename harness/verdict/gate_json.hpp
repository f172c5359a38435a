#pragma once
// The verdict of a gate as a document (schema "gate"); the command adds what it knows of the arms and the run.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/json_io.hpp"
#include "contract/result_set.hpp"
#include "verdict/differences.hpp"
#include "verdict/gate.hpp"

namespace stepgauge::verdict {

/// What the rules do not know of a gate: who was measured, how, and where it lies.
struct GateContext {
  std::string suite, suite_path, folder, created_at;
  std::vector<std::string> base, head;  ///< the arms as written
  GatePolicy policy;
  int attempts = 0;  ///< times that it was started or gone on with
  std::optional<double> budget_s;
  double elapsed_s = 0;  ///< of the last attempt
  std::string stopped;   ///< why it ended early; empty: it did not
  bool interrupted = false;
  Json fingerprint = Json::object();
  std::vector<std::string> command;       ///< that began it
  std::vector<SkippedCell> skipped;       ///< cells that neither arm has here
  std::vector<FieldDifference> software;  ///< what differs between the arms
};

Json to_json(const Gate& gate, const GateContext& context);

/// Reads a document of schema "gate" back. Throws ContractError naming `where` and the field; also for rows that do not
/// come to the counts and the exit code beside them.
struct GateDocument {
  Gate gate;
  GateContext context;
};
GateDocument gate_from_json(const Json& value, std::string_view where);

}  // namespace stepgauge::verdict
