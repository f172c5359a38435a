// Which program runs which compile mode.
#include "worker/compile/graph_program.hpp"
#include "worker/compile/python_program.hpp"
#include "worker/compile/torchscript_program.hpp"
#include "worker/eager_program.hpp"

namespace stepgauge::worker {

std::unique_ptr<StepProgram> make_program(const Cell& cell, const workloads::Workload& workload, DeviceRoom& room,
                                          const ProgramOptions& options) {
  if (cell.compile == "eager") return std::make_unique<EagerProgram>(cell, workload, room, options.rank);
  if (cell.compile == "torchscript") return std::make_unique<TorchScriptProgram>(cell, workload, room, options);
  if (is_cuda_graph_mode(cell.compile)) return std::make_unique<GraphProgram>(cell, workload, room, options.rank);
  if (is_python_mode(cell.compile)) return std::make_unique<PythonProgram>(cell, workload, room, options);
  throw UnsupportedCell("this worker does not know compile mode \"" + cell.compile + "\"");
}

}  // namespace stepgauge::worker
