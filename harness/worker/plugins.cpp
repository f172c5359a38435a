// Parts of the worker that are loaded only by cells that need them.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "worker/device.hpp"
#include "worker/mpi/make_mpi_backend.hpp"
#include "worker/python/python_engine.hpp"

namespace stepgauge::worker {
namespace {

/// Beside this program. No std::filesystem in the worker: libtorch_cpu exports one of its own.
std::string part_path(const char* library) {
  char buffer[PATH_MAX];
  const auto size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  const std::string program(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  return program.substr(0, program.rfind('/') + 1) + library;
}

/// The part stays loaded until the process ends: its code is referenced by live objects.
template <typename Function>
Function load(const char* library, const char* symbol, const char* what) {
  if (!has_part(library)) throw UnsupportedCell(std::string("this build has no ") + what + " part (" + library + ")");
  void* handle = ::dlopen(part_path(library).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw UnsupportedCell(std::string("the ") + what + " part does not load: " + ::dlerror());
  void* function = ::dlsym(handle, symbol);
  if (function == nullptr) throw UnsupportedCell(std::string("the ") + what + " part has no " + symbol);
  return reinterpret_cast<Function>(function);
}

}  // namespace

std::unique_ptr<DeviceTracer> make_cupti_tracer() {
  using Make = DeviceTracer* (*)();
  try {
    return std::unique_ptr<DeviceTracer>(load<Make>("libstepgauge_cupti.so", "stepgauge_make_cupti_tracer", "CUPTI")());
  } catch (const UnsupportedCell& error) {
    throw TracingUnavailable(error.what());
  }
}

bool has_part(const char* library) {
  return ::access(part_path(library).c_str(), R_OK) == 0;
}

std::unique_ptr<DeviceRoom> make_cuda_room(int index) {
  using Make = DeviceRoom* (*)(int);
  return std::unique_ptr<DeviceRoom>(load<Make>("libstepgauge_cuda.so", "stepgauge_make_cuda_room", "CUDA")(index));
}

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size) {
  using Make = void (*)(const c10::intrusive_ptr<c10d::Store>&, int, int, c10::intrusive_ptr<c10d::Backend>&);
  c10::intrusive_ptr<c10d::Backend> backend;
  load<Make>("libstepgauge_python.so", "stepgauge_make_gloo", "Python")(store, rank, size, backend);
  return backend;
}

c10::intrusive_ptr<c10d::Backend> make_mpi_backend(int rank, int size, bool agreement, std::string& library) {
  using Make = void (*)(int, int, bool, c10::intrusive_ptr<c10d::Backend>&, std::string&);
  c10::intrusive_ptr<c10d::Backend> backend;
  load<Make>("libstepgauge_mpi.so", "stepgauge_make_mpi", "MPI")(rank, size, agreement, backend, library);
  return backend;
}

void start_python() {
  load<void (*)()>("libstepgauge_python.so", "stepgauge_start_python", "Python")();
}

std::unique_ptr<PythonEngine> make_python_engine(const Cell& cell, torch::Device device, const NamedTensors& parameters,
                                                 const NamedTensors& buffers, const Json& options) {
  using Make = PythonEngine* (*)(const std::string&, const torch::Device&, const NamedTensors&, const NamedTensors&,
                                 const Json&);
  return std::unique_ptr<PythonEngine>(load<Make>("libstepgauge_python.so", "stepgauge_make_python_engine", "Python")(
      dump_line(to_json(cell)), device, parameters, buffers, options));
}

}  // namespace stepgauge::worker
