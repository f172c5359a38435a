// What the worker calls in libstepgauge_mpi.so.
#include <array>
#include <string>

#include "worker/mpi/mpi_backend.hpp"

extern "C" void stepgauge_make_mpi(int rank, int size, bool agreement, c10::intrusive_ptr<c10d::Backend>& backend,
                                   std::string& library) {
  using stepgauge::worker::MpiBackend;
  backend = c10::make_intrusive<MpiBackend>(rank, size, MpiBackend::Checks{agreement});
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) == MPI_SUCCESS)
    library.assign(text.data(), static_cast<std::size_t>(length));
}
