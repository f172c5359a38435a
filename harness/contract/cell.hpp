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
  int nodes = 1;                   ///< hosts; each has ranks / nodes of the ranks
  bool oversubscribe = false;      ///< ranks may share a device where there are more ranks than devices
  std::string backend = "gloo";    ///< "nccl" (cuda), "gloo" or "mpi" (cpu)
  std::string transport = "auto";  ///< nccl: "auto", "p2p" (nothing else), "nvlink" (P2P over NVLink alone), "p2p_off",
                                   ///< "socket" (P2P and shared memory off), "ib" (InfiniBand alone)
  std::string interface;           ///< network interface of rendezvous and collectives; empty: the library's choice
  std::string algorithm;           ///< nccl: "ring" or "tree"; empty: NCCL's choice
  std::string protocol;            ///< nccl: "ll", "ll128" or "simple"; empty: NCCL's choice
  int channels = 0;                ///< nccl: number of channels; 0: NCCL's choice
  std::string topology_file;       ///< nccl: description of the machine in NCCL's XML; empty: what NCCL finds
  double bucket_cap_mb = 25;       ///< MiB, as PyTorch's DDP
  double first_bucket_mb = 1;      ///< MiB
  bool gradient_as_bucket_view = true;
  bool find_unused = false;
  bool static_graph = false;
  std::string overlap = "ddp";  ///< one of known_overlaps()
  std::string hook;             ///< gradient compression, one of known_hooks(); empty: none
  double hook_share = 0.01;     ///< top_k*: share of the gradient's elements that are sent
  int hook_rank = 1;            ///< power_sgd: rank of the approximation
  bool error_feedback = true;   ///< top_k*, power_sgd: what was not sent is added to the next step's gradient
  std::string wrapper;          ///< Python modes of two and more ranks: "torch" (PyTorch's DistributedDataParallel) or
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
  std::string kind;  ///< one of known_faults()
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
  std::optional<int> rank;         ///< the one rank that is slowed; all of them when absent
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
  bool allreduce_sweep = false;   ///< time all-reduces of 1 KiB to 1 GiB through the cell's own process group
  bool collective_log = false;    ///< keep a log of every collective (docs/collective_log.md)
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
  /// "fixed": one batch for all steps; "fresh": a new random batch each step; "skewed": likewise, with tokens or
  /// classes of unequal frequency, so that there is something to learn.
  std::string input = "fixed";
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
  double stall_alarm = 35;  ///< percent; a launch of several ranks that stalls more starts a topology check; 0: never
  int launches = 3;
};

/// Values that this version knows, per axis; anything else is a config error.
const std::vector<std::string>& known_precisions();     // fp32 tf32 bf16 bf16_pure fp16 fp8 fp8_delayed
const std::vector<std::string>& known_compile_modes();  // eager torchscript cuda_graph ... compile.export
const std::vector<std::string>& known_checkpointing();  // none full every_2 ... selective, and reentrant ones
const std::vector<std::string>& known_transports();     // auto p2p nvlink p2p_off socket ib
const std::vector<std::string>& known_overlaps();       // ddp none ddp_no_sync_2 ... reduce_last optimizer_in_hook
const std::vector<std::string>& known_hooks();          // bf16 fp16 fp8 top_k top_k_fp8 power_sgd
const std::vector<std::string>& known_faults();         // kill stop throw other_length skip_collective
const std::vector<std::string>& known_phases();         // spawn runtime rendezvous build wrap compile
const std::vector<std::string>& known_wrongs();         // skip_backward stale_input recompile ...

/// The step is Python's: python_eager and every compile.* mode.
bool is_python_mode(const std::string& compile);
/// The mode has compile caches: every compile.* mode.
bool has_compile_caches(const std::string& compile);
bool is_cuda_graph_mode(const std::string& compile);
bool is_fp8(const std::string& precision);
bool is_top_k(const std::string& hook);

/// A new batch each step.
bool draws_every_step(const std::string& input);

/// Micro-steps whose gradients are added up before they are reduced: K of "ddp_no_sync_K", else 1.
int accumulation_steps(const std::string& overlap);

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
