#pragma once
#include "cli/commands.hpp"

namespace stepgauge::cli {

/// Adds `confirm` to the command `history`.
void add_history_confirm(CLI::App& history, Program& program);

}  // namespace stepgauge::cli
