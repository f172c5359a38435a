#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/collective_log.hpp"

namespace stepgauge::replay {

/// "64 B", "25.0 MiB", "size not known".
std::string size_text(std::int64_t bytes);
/// "all_reduce, 25.0 MiB"; "barrier".
std::string op_text(const Op& op);
/// "41 (all_reduce, 25.0 MiB)".
std::string collective_text(std::int64_t sequence, const Op& op);
/// "rank 3", "ranks 3 and 5", "ranks 0, 1, 2 and 6 more".
std::string ranks_text(const std::vector<int>& ranks);
/// " in group tp"; empty where there is only one.
std::string group_text(const Group& group, const CollectiveLog& log);
/// Three significant digits: "0.12", "250", "1830".
std::string ms_text(std::int64_t ns);
/// In what two calls differ, beginning with the kind: "all_reduce instead of broadcast", "80 B instead of 100 B",
/// "float32 instead of int32", "another shape of the same size".
std::string difference_text(const Op& op, const Op& expected);

}  // namespace stepgauge::replay
