#pragma once
// Words for people.
#include <string>
#include <string_view>

#include "trace/timeline.hpp"

namespace stepgauge::trace {

/// "compute", "communication", "copy".
std::string_view to_string(ActivityClass type);
/// "kernel", "memcpy", "memset", "operator", "collective".
std::string_view to_string(ActivityKind kind);

/// A kernel's name without return type, namespaces and parameters; template arguments of template arguments shrink to
/// their first name: "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*..>>". Operators lose
/// "autograd::engine::"; other names are short as they are.
std::string short_name(ActivityKind kind, std::string_view name);

}  // namespace stepgauge::trace
