// torch ships no gloo headers, so the gloo process group of CPU cells is made by torch's own Python bindings and handed
// back as the C++ object behind it.
#include <stdexcept>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "worker/python/interpreter.hpp"

namespace py = pybind11;

extern "C" void stepgauge_make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                    c10::intrusive_ptr<c10d::Backend>& out) {
  stepgauge::worker::ensure_interpreter();
  const py::gil_scoped_acquire gil;
  try {
    const auto c10d = py::module_::import("torch._C._distributed_c10d");
    const auto group = c10d.attr("ProcessGroupGloo")(py::cast(store), rank, size,
                                                     py::module_::import("datetime").attr("timedelta")(0, 300));
    out = group.cast<c10::intrusive_ptr<c10d::Backend>>();
  } catch (const py::error_already_set& error) {
    throw std::runtime_error(std::string("cannot make a gloo process group: ") + error.what());
  }
}
