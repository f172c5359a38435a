#pragma once
// rank<r>.collectives.jsonl: docs/collective_log.md.
#include <string_view>

#include "replay/detail/line_reader.hpp"
#include "replay/detail/log_builder.hpp"

namespace stepgauge::replay::detail {

inline constexpr std::string_view own_schema = "stepgauge.collective_log";
inline constexpr int own_version = 1;

/// Headers may stand anywhere: the lines behind one are of its rank. Lines of a rank without a readable header are
/// passed over; the log's notes say so.
void read_own_format(LineReader& lines, LogBuilder& into);

}  // namespace stepgauge::replay::detail
