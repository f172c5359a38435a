// The embedded interpreter. torch ships no gloo headers, so the gloo process group of CPU cells is made by
// torch's own Python bindings and handed back as the C++ object behind it.
#include <Python.h>
#include <pybind11/embed.h>
#include <torch/csrc/utils/pybind.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace py = pybind11;

namespace {

/// Starts the interpreter of the Python that Torch was found in; the GIL is released afterwards, for good.
void start_interpreter() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  const char* chosen = std::getenv("STEPGAUGE_PYTHON");
  auto status =
      PyConfig_SetBytesString(&config, &config.program_name, chosen != nullptr ? chosen : STEPGAUGE_TORCH_PYTHON);
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status) != 0) {
    throw std::runtime_error(std::string("cannot start the Python interpreter: ") +
                             (status.err_msg != nullptr ? status.err_msg : "?"));
  }
  PyEval_SaveThread();
}

}  // namespace

extern "C" void stepgauge_make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                    c10::intrusive_ptr<c10d::Backend>& out) {
  if (Py_IsInitialized() == 0) start_interpreter();
  const py::gil_scoped_acquire gil;
  try {
    py::module_::import("torch");
    const auto c10d = py::module_::import("torch._C._distributed_c10d");
    const auto group = c10d.attr("ProcessGroupGloo")(py::cast(store), rank, size,
                                                     py::module_::import("datetime").attr("timedelta")(0, 300));
    out = group.cast<c10::intrusive_ptr<c10d::Backend>>();
  } catch (const py::error_already_set& error) {
    throw std::runtime_error(std::string("cannot make a gloo process group: ") + error.what());
  }
}
