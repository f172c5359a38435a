#include "worker/python/interpreter.hpp"

#include <cstdlib>
#include <stdexcept>

namespace py = pybind11;

namespace stepgauge::worker {

void ensure_interpreter() {
  if (Py_IsInitialized() != 0) return;
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
  std::string failure;
  try {
    py::module_::import("torch");
  } catch (const py::error_already_set& error) {
    failure = describe_error(error);
  }
  PyEval_SaveThread();
  if (!failure.empty()) throw std::runtime_error("the embedded Python cannot import torch: " + failure);
}

std::string describe_error(const py::error_already_set& error) {
  constexpr std::size_t longest = 1500;
  std::string text =
      py::str(error.type().attr("__name__")).cast<std::string>() + ": " + py::str(error.value()).cast<std::string>();
  return text.size() > longest ? text.substr(0, longest) + " ..." : text;
}

}  // namespace stepgauge::worker
