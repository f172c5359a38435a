#pragma once
// The way into libstepgauge_mpi.so, without MPI's header.
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace stepgauge::worker {

/// Loads libstepgauge_mpi.so from beside the program and makes a backend over MPI_COMM_WORLD for CPU tensors;
/// `agreement` is MpiBackend::Checks', `library` becomes MPI's own name and version. Throws UnsupportedCell without the
/// part, or without an MPI engine.
c10::intrusive_ptr<c10d::Backend> make_mpi_backend(int rank, int size, bool agreement, std::string& library);

}  // namespace stepgauge::worker
