// stepgauge doctor: what is here, what works, what is missing, and which cells that rules out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/suite_options.hpp"
#include "launch/container.hpp"
#include "launch/engine.hpp"
#include "machine/captured_command.hpp"
#include "machine/link_rate.hpp"
#include "report/text.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::cli {
namespace {

using report::printable;

struct Finding {
  enum class Level { good, limited, missing } level;
  std::string what;
  std::string rules_out;  ///< the cells that cannot run because of it
};

const char* mark(Finding::Level level) {
  switch (level) {
    case Finding::Level::good:
      return "ok     ";
    case Finding::Level::limited:
      return "limited";
    case Finding::Level::missing:
      break;
  }
  return "missing";
}

void check_worker(std::vector<Finding>& out, Json& facts, const std::string& program_name) {
  const auto worker = built_in_worker(program_name);
  const auto answer = machine::run_captured({worker.string(), "--describe"});
  if (answer.exit_code != 0) {
    out.push_back({Finding::Level::missing, fmt::format("worker {}: {}", worker.string(), printable(answer.problem())),
                   "every cell of the built-in worker (./scripts/setup builds it; --worker CMD takes another)"});
    return;
  }
  facts = parse_json(answer.out, worker.string());
  out.push_back({Finding::Level::good,
                 fmt::format("worker {} with Torch {}", facts.value("worker", "?"), facts.value("torch", "?")), ""});
  if (facts.value("cuda_part", false)) {
    out.push_back({Finding::Level::good, "CUDA part of the worker (NCCL, events, caching allocator)", ""});
  } else {
    out.push_back({Finding::Level::missing,
                   "CUDA part of the worker: CPU-only build, no CUDA toolkit or NCCL headers were found",
                   "device: cuda"});
  }
  if (facts.value("python_part", false)) {
    out.push_back({Finding::Level::good, "Python part of the worker (gloo)", ""});
  } else {
    out.push_back({Finding::Level::missing, "Python part of the worker: no embeddable libpython was found",
                   "device: cpu with ddp ranks >= 2"});
  }
  if (facts.value("mpi_part", false)) {
    out.push_back({Finding::Level::good, "MPI part of the worker (backend mpi)", ""});
  } else {
    out.push_back({Finding::Level::missing, "MPI part of the worker: no MPI was found", "ddp: {backend: mpi}"});
  }
}

void check_gpus(std::vector<Finding>& out, const machine::Machine& machine) {
  if (machine.gpus.empty()) {
    out.push_back({Finding::Level::missing, "GPU: " + printable(machine.gpus_absent), "device: cuda"});
    return;
  }
  out.push_back({Finding::Level::good,
                 fmt::format("driver {}, CUDA {}", machine.driver_version, machine.cuda_driver_version), ""});
  for (const auto& gpu : machine.gpus) {
    const bool busy = !gpu.processes.empty() || !gpu.throttle.empty();
    auto text = fmt::format("GPU {}: {}, {:.0f} MiB ({:.0f} in use), SM {} of {} MHz", gpu.index, printable(gpu.name),
                            gpu.memory_mib, gpu.memory_used_mib, gpu.sm_mhz.value_or(0), gpu.sm_max_mhz.value_or(0));
    if (!gpu.processes.empty()) text += fmt::format(", {} other processes", gpu.processes.size());
    for (const auto& reason : gpu.throttle) text += ", throttled: " + printable(reason);
    out.push_back({busy ? Finding::Level::limited : Finding::Level::good, text,
                   busy ? "nothing, but numbers may be disturbed" : ""});
  }
  for (const auto& link : machine.links) {
    const auto rate = machine::link_rate(machine, link);
    out.push_back({Finding::Level::good,
                   fmt::format("GPU {} - GPU {}: {}, {}{}", link.a, link.b, link.kind, rate.text,
                               rate.gbps ? fmt::format(", {:.3g} GB/s a direction", *rate.gbps) : ""),
                   ""});
  }
  if (machine.gpus.size() < 2) out.push_back({Finding::Level::limited, "one GPU", "device: cuda with ddp ranks >= 2"});
}

void check_host(std::vector<Finding>& out, const machine::Machine& machine) {
  out.push_back(
      {Finding::Level::good, fmt::format("{}, Linux {}", printable(machine.os), printable(machine.kernel)), ""});
  out.push_back({Finding::Level::good,
                 fmt::format("CPU {}: {} usable cores, {} NUMA nodes, {:.1f} GiB", printable(machine.cpu.model),
                             machine.cpu.usable_cores, machine.cpu.numa_nodes, machine.memory_gib),
                 ""});
  if (machine.shm && machine.shm->free_bytes < (std::uint64_t{64} << 20)) {
    out.push_back({Finding::Level::limited, fmt::format("/dev/shm: {} MiB free", machine.shm->free_bytes >> 20),
                   "NCCL over shared memory (ddp transport auto or p2p_off); --shm-size in a container"});
  }
  out.push_back({machine.interfaces.empty() ? Finding::Level::limited : Finding::Level::good,
                 machine.interfaces.empty()
                     ? std::string("the kernel shows no network interface")
                     : printable(fmt::format("network interfaces: {}", fmt::join(machine.interfaces, ", "))),
                 machine.interfaces.empty() ? "ddp.interface" : ""});
  out.push_back({Finding::Level::good,
                 machine.infiniband.empty()
                     ? std::string("no InfiniBand (ddp.transport ib needs it)")
                     : printable(fmt::format("InfiniBand: {}", fmt::join(machine.infiniband, ", "))),
                 ""});
  for (const auto engine : {launch::Engine::mpirun, launch::Engine::srun}) {
    const auto found = launch::find_engine(engine);
    const bool good = found.problem.empty();
    out.push_back(
        {good ? Finding::Level::good : Finding::Level::missing,
         good ? fmt::format("--launcher {}: {} ({})", to_string(engine), printable(found.version), found.program)
              : printable(found.problem),
         good ? "" : fmt::format("--launcher {}", to_string(engine))});
  }
  try {
    const auto engine = launch::find_container_engine(machine::all_variables());
    out.push_back({Finding::Level::good,
                   fmt::format("containers: {} ({})", printable(engine.version), printable(engine.program)), ""});
  } catch (const launch::ContainerError& error) {
    out.push_back({Finding::Level::missing, printable(error.what()), "--worker container:IMAGE"});
  }
}

void doctor(bool json, Program& program) {
  const auto machine = machine::inspect();
  std::vector<Finding> findings;
  Json worker = nullptr;
  check_host(findings, machine);
  check_worker(findings, worker, program.name);
  check_gpus(findings, machine);
  if (worker.is_null()) program.code = ExitCode::measurement_failed;
  const auto slug = store::fingerprint_slug(store::fingerprint(to_json(machine), !machine.gpus.empty()));
  if (json) {
    auto list = Json::array();
    for (const auto& finding : findings) {
      list.push_back(
          {{"level", printable(mark(finding.level))}, {"what", finding.what}, {"rules_out", finding.rules_out}});
    }
    fmt::print(
        "{}\n",
        dump_line({{"machine", to_json(machine)}, {"worker", worker}, {"findings", list}, {"fingerprint", slug}}));
    return;
  }
  for (const auto& finding : findings) {
    fmt::print("{}  {}\n", mark(finding.level), finding.what);
    if (!finding.rules_out.empty()) fmt::print("         rules out: {}\n", finding.rules_out);
  }
  fmt::print("baselines of this machine: results/baselines/{}\n", slug);
}

}  // namespace

void add_doctor(Program& program) {
  auto json = std::make_shared<bool>(false);
  auto* command =
      program.app.add_subcommand("doctor", "what is here, what works, what is missing and which cells that rules out");
  command->add_flag("--json", *json, "JSON on standard output");
  command->footer("Example: stepgauge doctor");
  command->callback([json, &program] { doctor(*json, program); });
}

}  // namespace stepgauge::cli
