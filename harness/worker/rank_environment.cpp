#include "worker/rank_environment.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;

namespace stepgauge::worker {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

std::string required(const char* name) {
  auto text = variable(name);
  if (!text)
    throw ContractError(
        fmt::format("{} is not set; stepgauge-worker is started by stepgauge (docs/worker_contract.md)", name));
  return *text;
}

template <typename T>
T number(const char* name, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw ContractError(fmt::format("{}: expected a whole number, found \"{}\"", name, text));
  }
  return value;
}

template <typename T>
T number_or(const char* name, T fallback) {
  const auto text = variable(name);
  return text ? number<T>(name, *text) : fallback;
}

}  // namespace

RankEnvironment RankEnvironment::read() {
  RankEnvironment out;
  out.cell_path = required("STEPGAUGE_CELL");
  out.record_path = required("STEPGAUGE_RECORD");
  out.trace_path = variable("STEPGAUGE_TRACE");
  out.memory_history_path = variable("STEPGAUGE_MEMORY_HISTORY");
  out.replay_path = variable("STEPGAUGE_REPLAY");
  out.launch = number_or("STEPGAUGE_LAUNCH", 0);
  out.launch_id = variable("STEPGAUGE_LAUNCH_ID").value_or("");
  out.rank = number_or("RANK", 0);
  out.world_size = number_or("WORLD_SIZE", 1);
  out.local_rank = number_or("LOCAL_RANK", out.rank);
  out.master_addr = variable("MASTER_ADDR").value_or("127.0.0.1");
  out.master_port = out.world_size > 1 ? number<int>("MASTER_PORT", required("MASTER_PORT")) : 0;
  if (const auto fd = variable("STEPGAUGE_STORE_FD")) out.store_fd = number<int>("STEPGAUGE_STORE_FD", *fd);
  if (const auto ns = variable("STEPGAUGE_SPAWN_NS")) out.spawn_ns = number<std::int64_t>("STEPGAUGE_SPAWN_NS", *ns);
  return out;
}

std::string RankEnvironment::beside_record(const char* ending) const {
  return record_path.substr(0, record_path.rfind('/') + 1) + "rank" + std::to_string(rank) + ending;
}

std::string RankEnvironment::graphs_path() const {
  return beside_record(".graphs.json");
}

std::string RankEnvironment::collectives_path() const {
  return beside_record(".collectives.jsonl");
}

Json recorded_variables() {
  static constexpr std::array<std::string_view, 17> prefixes{
      "NCCL_", "NVSHMEM_", "TORCH_", "PYTORCH_", "CUDA_",          "CUBLAS",       "CUDNN_",  "NVIDIA_",  "OMP_",
      "MKL_",  "KMP_",     "GLOO_",  "TRITON_",  "TORCHINDUCTOR_", "TORCHDYNAMO_", "MALLOC_", "OPENBLAS_"};
  Json out = Json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = text.substr(0, equals);
    for (const auto prefix : prefixes) {
      if (name.substr(0, prefix.size()) == prefix) out[std::string(name)] = std::string(text.substr(equals + 1));
    }
  }
  return out;
}

Json cpu_placement() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {{"affinity", nullptr}};
  std::string ranges;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!ranges.empty()) ranges.push_back(',');
    ranges += last == cpu ? fmt::format("{}", cpu) : fmt::format("{}-{}", cpu, last);
    cpu = last;
  }
  return {{"affinity", ranges}, {"cores", CPU_COUNT(&set)}, {"started_on", ::sched_getcpu()}};
}

}  // namespace stepgauge::worker
