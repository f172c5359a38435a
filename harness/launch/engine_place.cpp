#include "launch/engine_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace stepgauge::launch {
namespace {

using machine::Variables;

constexpr std::array<std::string_view, 8> mpi_prefixes{"OMPI_", "PMIX_", "PMI_",  "PMI2_",
                                                       "ORTE_", "OPAL_", "PRTE_", "SLURM_"};

int number_of(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  if (found == variables.end()) throw std::invalid_argument(fmt::format("{} is not set: no rank of this engine", name));
  const auto& text = found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    throw std::invalid_argument(fmt::format("{}: expected a number from 0 on, found \"{}\"", name, text));
  }
  return value;
}

std::string text_of(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  if (found == variables.end()) throw std::invalid_argument(fmt::format("{} is not set: no rank of this engine", name));
  return found->second;
}

}  // namespace

int tasks_on_node(const std::string& list, int node) {
  std::string_view rest(list);
  const auto number = [&]() {
    int value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{} || value < 1) {
      throw std::invalid_argument(fmt::format("tasks per node: expected e.g. \"2(x3),1\", found \"{}\"", list));
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  };
  while (true) {
    const int tasks = number();
    int nodes = 1;
    if (rest.starts_with("(x")) {
      rest.remove_prefix(2);
      nodes = number();
      if (!rest.starts_with(")")) rest = "?";
      rest.remove_prefix(1);
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (!rest.starts_with(",")) {
      throw std::invalid_argument(fmt::format("tasks per node: \"{}\" ends before node {}", list, node));
    }
    rest.remove_prefix(1);
  }
}

EnginePlace engine_place(Engine engine, const Variables& variables) {
  EnginePlace out;
  if (engine == Engine::mpirun) {
    out.rank = number_of(variables, "OMPI_COMM_WORLD_RANK");
    out.ranks = number_of(variables, "OMPI_COMM_WORLD_SIZE");
    out.local_rank = number_of(variables, "OMPI_COMM_WORLD_LOCAL_RANK");
    out.local_ranks = number_of(variables, "OMPI_COMM_WORLD_LOCAL_SIZE");
  } else {
    out.rank = number_of(variables, "SLURM_PROCID");
    out.ranks = number_of(variables, "SLURM_STEP_NUM_TASKS");
    out.local_rank = number_of(variables, "SLURM_LOCALID");
    out.local_ranks =
        tasks_on_node(text_of(variables, "SLURM_STEP_TASKS_PER_NODE"), number_of(variables, "SLURM_NODEID"));
  }
  if (out.rank >= out.ranks || out.local_rank >= out.local_ranks || out.local_ranks > out.ranks) {
    throw std::invalid_argument(fmt::format("{} gives rank {} of {} and local rank {} of {}, which do not fit",
                                            to_string(engine), out.rank, out.ranks, out.local_rank, out.local_ranks));
  }
  return out;
}

Variables mpi_variables(const Variables& variables) {
  Variables out;
  for (const auto& [name, value] : variables) {
    const bool passed =
        std::any_of(mpi_prefixes.begin(), mpi_prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
    if (passed && name != "SLURM_JWT") out.emplace(name, value);
  }
  return out;
}

}  // namespace stepgauge::launch
