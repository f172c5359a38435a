#pragma once
// PyTorch's flight recorder: what _dump_nccl_trace_json() and _dump_nccl_trace() (a pickle) give, with any backend.
#include <cstdint>
#include <string>
#include <string_view>

#include "replay/detail/log_builder.hpp"

namespace stepgauge::replay::detail {

/// The text's beginning is that of a JSON dump.
bool is_flight_recorder_json(std::string_view beginning);

/// Both throw ContractError for a file that is no dump; what was read before the damage is kept.
void read_flight_recorder_json(const std::string& path, std::int64_t rank, LogBuilder& into);
void read_flight_recorder_pickle(const std::string& path, std::int64_t rank, LogBuilder& into);

}  // namespace stepgauge::replay::detail
