#pragma once
// A cell: one point of a suite's matrix with every value resolved; what the CLI hands to a worker as JSON
// (schema "cell").
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/json_io.hpp"

namespace stepgauge {

inline constexpr int cell_version = 1;

struct CellWorkload {
  std::string name;                           ///< preset, e.g. "resnet50"
  std::string family;                         ///< e.g. "resnet"
  std::map<std::string, std::int64_t> sizes;  ///< every size of the family, resolved
};

struct CellDdp {
  int ranks = 1;
  int nodes = 1;                   ///< hosts that the ranks are spread over, evenly
  std::string backend = "gloo";    ///< "nccl" (cuda), "gloo" (cpu) or "mpi" (ranks started by mpirun or srun)
  std::string transport = "auto";  ///< "auto", "p2p" (nothing else), "p2p_off", "socket" (P2P and shared memory
                                   ///< off), "ib" (InfiniBand alone)
  double bucket_cap_mb = 25;       ///< MiB, as PyTorch's DDP
  double first_bucket_mb = 1;      ///< MiB
  bool gradient_as_bucket_view = true;
  bool find_unused = false;
  bool static_graph = false;
  std::string interface;  ///< network interface of the rendezvous and the collectives; empty: as the host's name has it
  bool oversubscribe = false;  ///< more ranks than devices, or than slots of a host, on purpose
  std::string wrapper;         ///< Python modes of two and more ranks: "torch" (PyTorch's DistributedDataParallel) or
                               ///< "reducer" (ours, as the C++ modes); else empty
};

/// Options of a compile mode; a document holds those that differ from these.
struct CellCompileOptions {
  std::string executor = "profiling";  ///< torchscript: "profiling" (profiles, differentiates and fuses) or "simple"
                                       ///< (runs the graph as it is; the gradients are autograd's)
  bool fullgraph = false;              ///< compile.*: a graph break is an error
  std::string dynamic = "auto";        ///< compile.*: "auto" (dynamic shapes after a second one), "on", "off"
  bool ddp_optimizer = true;           ///< compile.*: graphs are split at DDP's buckets
  bool compiled_autograd = false;      ///< compile.*: the backward graph is captured whole, at run time
  bool compile_optimizer = false;      ///< compile.*: the optimizer's step is compiled too
};

/// `checkpointing` taken apart.
struct Checkpointing {
  enum class Policy { none, full, every, selective };
  Policy policy = Policy::none;
  int every = 1;           ///< each, every second, ... block is recomputed
  bool reentrant = false;  ///< the recomputed part has a backward pass of its own inside the outer one
};

struct CellOptimizer {
  std::string name = "sgd";  ///< "sgd" or "adamw"
  double lr = 0.1;
  double momentum = 0.9;      ///< sgd only
  double weight_decay = 0.0;  ///< sgd: L2; adamw: decoupled
};

/// A deliberate fault of one rank: what tests of the harness, and of a user's CI, plant.
struct CellFault {
  std::string kind;  ///< "kill" (SIGKILL itself), "stop" (never returns), "throw"
  int rank = 0;
  std::int64_t step = 0;  ///< first step that the rank does not finish
};

/// A planted slowdown. Part of the identity and shown in the id, so that it is never mistaken for a real
/// result.
struct CellPerturb {
  double step_percent = 0;  ///< each step is made longer by this share of the settled step time
  std::string sleep_phase;  ///< phase that sleeps, e.g. "build"
  double sleep_s = 0;
  std::int64_t extra_memory_mib = 0;  ///< held from build to the end
  // After each step: what `trace diff` has to find.
  std::int64_t step_sleep_us = 0;  ///< the host waits for the device and sleeps
  std::int64_t step_copy_mib = 0;  ///< a copy on the device
  std::int64_t step_kernels = 0;   ///< that many kernels that no workload uses
  std::string wrong;               ///< a step that does not do its work: one of known_wrongs(), or empty
  std::optional<CellFault> fault;
};

/// How a launch measures. Not part of the identity.
struct CellMeasure {
  std::int64_t steps = 50;              ///< measured steps after warm-up
  std::int64_t warmup_block = 5;        ///< steps per warm-up block; times settle over three blocks
  std::int64_t warmup_max_steps = 100;  ///< cap of the warm-up
  double warmup_max_s = 60;             ///< cap of the warm-up in seconds (whichever comes first)
  std::int64_t losses = 10;             ///< losses of the first steps that are kept
  std::int64_t trace_steps = 5;         ///< steps of the traced pass, after the measured ones; 0: no traced pass
  bool keep_trace = false;              ///< keep the trace files of the launch
  std::int64_t parity_steps = 3;  ///< steps compared with the eager reference after all measurement; 0: not compared
  bool graphs = false;            ///< keep a snapshot of every compiled graph
  bool ir_census = false;         ///< count the nodes of every intermediate representation, after all measurement
};

/// Clocks of the launcher. Not part of the identity.
struct CellLimits {
  double launch_s = 600;   ///< deadline of one launch
  double silence_s = 120;  ///< longest time without a word from a rank
  double grace_s = 5;      ///< between SIGTERM and SIGKILL, and for siblings of a dead rank
  double compile_s =
      600;  ///< in place of silence_s while a mode that compiles is in phase compile or in its first steps
};

/// What the machine must have, else the cell is `unsupported` with the reason. Not part of the identity.
struct CellRequires {
  int gpus = 0;
  double gpu_memory_gib = 0;
  double compute_capability = 0;  ///< e.g. 9.0
  std::string link;               ///< "nvlink": every pair of the cell's GPUs
  double memory_gib = 0;          ///< host memory
};

/// Tolerance of one metric that replaces the catalogue's. Not part of the identity.
struct CellTolerance {
  std::optional<double> relative;  ///< 0.02 = 2 %
  std::optional<double> floor;     ///< in the metric's unit
};

struct Cell {
  std::string id;    ///< readable, ends in "-" + hash
  std::string hash;  ///< 8 hex digits over the identity
  std::string suite;
  std::string worker = "stepgauge";  ///< "stepgauge" or a name of the suite's `workers`
  std::string device = "cuda";       ///< "cuda" or "cpu"
  CellWorkload workload;
  std::int64_t batch = 1;  ///< per rank
  std::string precision = "fp32";
  std::string compile = "eager";
  CellCompileOptions compile_options;
  std::string cache;  ///< modes with compile caches: "cold" (empty ones) or "warm" (filled by an earlier launch of the
                      ///< cell); else empty
  std::string checkpointing = "none";  ///< "none", "full", "every_2" (3, ...), "selective"; ".reentrant" may follow
  std::string memory_format = "contiguous";
  std::string input = "fixed";  ///< "fixed": one batch for all steps; "fresh": a new random batch each step
  CellOptimizer optimizer;
  CellDdp ddp;
  std::map<std::string, std::string> env;  ///< variables set for this cell alone
  std::int64_t seed = 0;
  CellPerturb perturb;

  CellMeasure measure;
  CellLimits limits;
  CellRequires needs;
  std::map<std::string, CellTolerance> tolerance;
  double price_per_gpu_hour = 0;  ///< 0: no cost metric
  double peak_tflops = 0;         ///< 0: the worker's table of known devices
  int launches = 3;
};

/// Values that this version knows, per axis; anything else is a config error.
const std::vector<std::string>& known_precisions();     // fp32 tf32 bf16 bf16_pure fp16 fp8 fp8_delayed
const std::vector<std::string>& known_compile_modes();  // eager torchscript cuda_graph ... compile.export
const std::vector<std::string>& known_checkpointing();  // none full every_2 ... selective, and reentrant ones
const std::vector<std::string>& known_transports();     // auto p2p p2p_off socket ib
const std::vector<std::string>& known_phases();         // spawn runtime rendezvous build wrap compile
const std::vector<std::string>& known_wrongs();         // skip_backward stale_input recompile ...

/// The step is Python's: python_eager and every compile.* mode.
bool is_python_mode(const std::string& compile);
/// The mode has compile caches: every compile.* mode.
bool has_compile_caches(const std::string& compile);
bool is_cuda_graph_mode(const std::string& compile);
bool is_fp8(const std::string& precision);

/// Takes a value of known_checkpointing() apart.
Checkpointing checkpointing_of(const std::string& value);

/// Why no machine and no worker of ours can do the cell (a mode that its device, precision, checkpointing or number of
/// ranks rules out); empty when there is no such reason.
std::string unsupported_reason(const Cell& cell);

bool is_perturbed(const Cell& cell);

/// Fills `hash` (first 8 hex digits of SHA-256 over the canonical identity: sorted keys, typed numbers) and
/// `id`.
void assign_identity(Cell& cell);

/// The identity that is hashed: everything that changes what is computed or where, nothing of how it is
/// measured or judged.
Json identity_json(const Cell& cell);

Json to_json(const Cell& cell);

/// Reads a cell document; ContractError for a newer version, a missing field or a wrong type.
Cell cell_from_json(const Json& value, std::string_view origin);

}  // namespace stepgauge
