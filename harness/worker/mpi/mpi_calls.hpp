#pragma once
// What lies between Torch's tensors and MPI's calls: errors, types, operations, counts.
#include <ATen/ATen.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace stepgauge::worker {

/// Throws std::runtime_error with the call and MPI's own text where `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// "MPI_THREAD_FUNNELED", ... for the value of MPI_Init_thread and MPI_Query_thread.
std::string thread_level_name(int level);

/// MPI has no half and bfloat16: they are reduced as float, twice the bytes on the wire, and rounded once at the end.
bool is_reduced_as_float(at::ScalarType type);

/// The type of elements that are reduced; c10::Error naming the type when MPI has none.
MPI_Datatype mpi_type(at::ScalarType type);

/// The operation over elements of `type`; an average is a sum. Booleans are summed by "or" and multiplied by "and", as
/// NCCL does. c10::Error where MPI has none.
MPI_Op mpi_operation(const c10d::ReduceOp& operation, at::ScalarType type);

/// MPI counts in int: calls `part(offset, count)` for pieces of at most `most` elements, none for zero elements.
template <typename Part>
void in_pieces(std::int64_t elements, std::int64_t most, Part&& part) {
  for (std::int64_t offset = 0; offset < elements; offset += most)
    part(offset, static_cast<int>(std::min(most, elements - offset)));
}

}  // namespace stepgauge::worker
