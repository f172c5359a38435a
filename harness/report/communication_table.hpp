#pragma once
#include <string>

#include "contract/result_set.hpp"
#include "report/style.hpp"

namespace stepgauge::report {

/// What a run's ranks had to say to each other, where there is something to say: cells whose stall raised the alarm and
/// what the check of the topology found, variables that shell and cell set differently, communicators that took long to
/// start. Empty when nothing of it happened.
std::string communication_table(const ResultSet& results, const Style& style);

}  // namespace stepgauge::report
