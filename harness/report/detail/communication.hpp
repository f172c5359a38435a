#pragma once
// The communication parts of launch records, as far as they are there.
#include <optional>
#include <string>
#include <vector>

#include "contract/result_set.hpp"

namespace stepgauge::report::detail {

/// `used` of a setting in the last ok launch that has it; empty: not known.
std::string used_setting(const CellResults& cell, const char* name);

/// "p2p", "shm + socket": the families of transports in `settings.transport.used`.
std::string transports_text(const CellResults& cell);

/// A number of `communication`, at a path of keys; absent where it is not there.
std::optional<double> communication_number(const CellResults& cell, const std::vector<const char*>& path);

/// What the all-reduce sweep has of that size: "busbw_gbps" (GB/s), "time_us", ...
std::optional<double> sweep_number(const CellResults& cell, double bytes, const char* key);

/// `topology_check` of the last launch that stalled, whatever its status; null: none did.
const Json& topology_check(const CellResults& cell);

/// The items of an array of texts; others are left out.
std::vector<std::string> texts_of(const Json& value, const char* key);

}  // namespace stepgauge::report::detail
