// stepgauge_engine.Engine behind the C++ interface.
#include "worker/python/python_engine.hpp"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <climits>

#include "worker/device.hpp"
#include "worker/python/interpreter.hpp"

namespace py = pybind11;

namespace stepgauge::worker {
namespace {

/// The folder of Python files beside this program.
std::string python_folder() {
  char buffer[PATH_MAX];
  const auto size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  const std::string program(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  return program.substr(0, program.rfind('/') + 1) + "python";
}

/// A Python error as the kind of failure that it is for the launch.
[[noreturn]] void rethrow(const py::error_already_set& error) {
  const auto name = py::str(error.type().attr("__name__")).cast<std::string>();
  const auto text = describe_error(error);
  std::fprintf(stderr, "%s\n", error.what());  // with the stack, for the rank's log
  if (name == "OutOfMemoryError") TORCH_CHECK_WITH(OutOfMemoryError, false, text);
  const auto message = py::str(error.value()).cast<std::string>();
  if (name == "CacheRefused") throw IneffectiveCell(message);
  if (name == "Unsupported" &&
      py::str(error.type().attr("__module__")).cast<std::string>().rfind("stepgauge_engine", 0) == 0)
    throw UnsupportedCell(message);
  throw std::runtime_error(text);
}

template <typename Function>
auto in_python(Function&& function) {
  const py::gil_scoped_acquire gil;
  try {
    return function();
  } catch (const py::error_already_set& error) {
    rethrow(error);
  }
}

py::dict dictionary(const NamedTensors& tensors) {
  py::dict out;
  for (const auto& [name, tensor] : tensors) out[py::str(name)] = py::cast(tensor);
  return out;
}

class Engine final : public PythonEngine {
 public:
  Engine(const std::string& cell, torch::Device device, const NamedTensors& parameters, const NamedTensors& buffers,
         const Json& options) {
    in_python([&] {
      py::module_::import("sys").attr("path").attr("insert")(0, python_folder());
      const auto package = py::module_::import("stepgauge_engine");
      engine_ = package.attr("Engine")(cell, device.str(), dictionary(parameters), dictionary(buffers), options.dump());
      step_ = engine_.attr("step");
    });
  }
  ~Engine() override {
    const py::gil_scoped_acquire gil;
    try {
      if (py::hasattr(engine_, "close")) engine_.attr("close")();
    } catch (const py::error_already_set& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    step_ = py::object();
    engine_ = py::object();
    mark_ = py::object();
    py::module_::import("gc").attr("collect")();  // cycles of a compiled module hold its memory
  }

  void set_batch(const workloads::Batch& batch) override {
    in_python([&] { engine_.attr("set_batch")(batch.input, batch.target); });
  }
  void wrap(const c10::intrusive_ptr<c10d::ProcessGroup>& group) override {
    in_python([&] {
      py::module_::import("torch.distributed");
      engine_.attr("wrap")(py::cast(group));
    });
  }
  void prepare() override { call("prepare"); }
  torch::Tensor step(StepMarks* marks) override {
    return in_python([&] { return step_(marker(marks)).cast<torch::Tensor>(); });
  }
  void clear_gradients() override { call("clear_gradients"); }
  torch::Tensor forward() override {
    return in_python([&] { return engine_.attr("forward")().cast<torch::Tensor>(); });
  }
  torch::Tensor scaled(const torch::Tensor& loss) override {
    return in_python([&] { return engine_.attr("scaled")(loss).cast<torch::Tensor>(); });
  }
  void optimizer_step() override { call("optimizer_step"); }
  NamedTensors parameters() override {
    return in_python([&] {
      NamedTensors out;
      for (const auto& item : engine_.attr("parameters")()) {
        const auto pair = item.cast<py::tuple>();
        out.emplace_back(pair[0].cast<std::string>(), pair[1].cast<torch::Tensor>());
      }
      return out;
    });
  }
  std::vector<torch::Tensor> buffers() override {
    return in_python([&] {
      std::vector<torch::Tensor> out;
      for (const auto& item : engine_.attr("buffers_list")()) out.push_back(item.cast<torch::Tensor>());
      return out;
    });
  }
  void reset(const NamedTensors& parameters, const NamedTensors& buffers) override {
    in_python([&] { engine_.attr("reset")(dictionary(parameters), dictionary(buffers)); });
  }
  void mark_late() override { call("mark_late"); }
  Json report() override { return document("report"); }
  Json settings() override { return document("settings"); }
  Json census() override { return document("census"); }
  std::optional<std::int64_t> recomputed() override {
    return in_python([&]() -> std::optional<std::int64_t> {
      const py::object count = engine_.attr("recomputed")();
      if (count.is_none()) return std::nullopt;
      return count.cast<std::int64_t>();
    });
  }
  void write_graphs() override { call("write_graphs"); }
  void stamp_cache() override { call("stamp_cache"); }

 private:
  void call(const char* name) {
    in_python([&] { engine_.attr(name)(); });
  }
  Json document(const char* name) {
    return in_python([&] { return Json::parse(engine_.attr(name)().cast<std::string>()); });
  }

  /// None without marks: a timed step calls nothing back.
  py::object marker(StepMarks* marks) {
    if (marks == nullptr) return py::none();
    if (marks != marked_) {
      marked_ = marks;
      mark_ = py::cpp_function([marks](const std::string& phase) { marks->phase(literal(phase)); });
    }
    return mark_;
  }

  /// Names of phases outlive their marks.
  static const char* literal(const std::string& phase) {
    static const char* const names[] = {"input", "forward", "backward", "optimizer"};
    for (const auto* name : names) {
      if (phase == name) return name;
    }
    throw std::runtime_error("the Python engine marks an unknown phase \"" + phase + "\"");
  }

  py::object engine_, step_, mark_;
  StepMarks* marked_ = nullptr;
};

}  // namespace
}  // namespace stepgauge::worker

extern "C" void stepgauge_start_python() {
  stepgauge::worker::ensure_interpreter();
}

extern "C" stepgauge::worker::PythonEngine* stepgauge_make_python_engine(
    const std::string& cell, const torch::Device& device, const stepgauge::worker::NamedTensors& parameters,
    const stepgauge::worker::NamedTensors& buffers, const stepgauge::Json& options) {
  stepgauge::worker::ensure_interpreter();
  return new stepgauge::worker::Engine(cell, device, parameters, buffers, options);
}
