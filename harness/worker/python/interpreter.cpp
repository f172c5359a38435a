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
  constexpr std::size_t longest = 500;
  const auto message = py::str(error.value()).cast<std::string>();
  auto text = py::str(error.type().attr("__name__")).cast<std::string>() + ": " +
              message.substr(0, std::min(message.find('\n'), longest));
  // A compiler's message names the line of the model that it could not do further down.
  const auto user = message.find("from user code:");
  const auto begin = user == std::string::npos ? user : message.rfind("File \"");
  if (begin != std::string::npos && begin > user)
    text += " at " + message.substr(begin, message.find('\n', begin) - begin);
  return text;
}

}  // namespace stepgauge::worker
