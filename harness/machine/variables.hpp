#pragma once
// The shell's variables that matter to a launch. Everything else (tokens, passwords) neither reaches a rank nor a file.
#include <map>
#include <string>
#include <string_view>

namespace stepgauge::machine {

using Variables = std::map<std::string, std::string>;

/// NCCL_*, TORCH_*, CUDA_*, PYTORCH_*, OMP_* and their kin: passed to ranks and kept in results.
bool is_recorded_variable(std::string_view name);

/// What a rank sees of the shell: the recorded variables and PATH, HOME, LANG, LD_LIBRARY_PATH, ...
bool is_passed_variable(std::string_view name);

/// Every variable of this process.
Variables all_variables();

/// The recorded ones of this process.
Variables recorded_variables();

}  // namespace stepgauge::machine
