#include "launch/engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <stdexcept>

#include "launch/rank_process.hpp"
#include "machine/captured_command.hpp"
#include "machine/machine.hpp"

namespace stepgauge::launch {
namespace {

using machine::ranks_per_node;

constexpr double lost_host_s = 10;  ///< after which Open MPI gives a host up that says nothing any more

bool is_host_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

EngineHost make_host(std::string_view name, std::optional<std::string_view> slots, const std::string& where) {
  if (!is_host_name(name)) throw std::invalid_argument(fmt::format("{}: \"{}\" is no host name", where, name));
  EngineHost out{std::string(name), std::nullopt};
  if (!slots) return out;
  int count = 0;
  const auto [end, error] = std::from_chars(slots->data(), slots->data() + slots->size(), count);
  if (error != std::errc{} || end != slots->data() + slots->size() || count < 1) {
    throw std::invalid_argument(
        fmt::format("{}: host \"{}\": slots: expected an integer from 1 on, found \"{}\"", where, name, *slots));
  }
  out.slots = count;
  return out;
}

void add_host(std::vector<EngineHost>& hosts, EngineHost host, const std::string& where) {
  if (std::any_of(hosts.begin(), hosts.end(), [&](const EngineHost& other) { return other.name == host.name; })) {
    throw std::invalid_argument(fmt::format("{}: host \"{}\" stands twice; give it slots instead", where, host.name));
  }
  hosts.push_back(std::move(host));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return out;
    const auto end = std::min(line.find_first_of(" \t\r", begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::vector<std::string> mpirun_hosts(const EngineOptions& options, const Cell& cell) {
  const int each = ranks_per_node(cell);
  if (options.hosts.empty()) {
    if (inside_allocation(Engine::mpirun)) return {};
    return {"--host", fmt::format("localhost:{}", each)};
  }
  std::string text;
  for (int i = 0; i < cell.ddp.nodes; ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "" : ",", options.hosts[static_cast<std::size_t>(i)].name, each);
  }
  return {"--host", text};
}

std::vector<std::string> mpirun_command(const EngineOptions& options, const Cell& cell) {
  std::vector<std::string> out{options.program, "-np", std::to_string(cell.ddp.ranks)};
  const auto add = [&](std::vector<std::string> more) { out.insert(out.end(), more.begin(), more.end()); };
  add(mpirun_hosts(options, cell));
  add({"--map-by", fmt::format("ppr:{}:node{}", ranks_per_node(cell), cell.ddp.oversubscribe ? ":OVERSUBSCRIBE" : "")});
  add({"--bind-to", "none", "--stdin", "none"});
  if (::geteuid() == 0) add({"--allow-run-as-root"});
  // A host that was cut off is noticed by its silent connection, not after the system's hours of patience.
  add({"--mca", "oob_tcp_keepalive_time", fmt::format("{:.0f}", lost_host_s / 2)});
  add({"--mca", "oob_tcp_keepalive_intvl", "1", "--mca", "oob_tcp_keepalive_probes",
       fmt::format("{:.0f}", lost_host_s / 2)});
  // An agent ends its worker in order before it is killed itself.
  add({"--mca", "odls_base_sigkill_timeout", fmt::format("{:.0f}", std::ceil(cell.limits.grace_s) + 2)});
  return out;
}

std::vector<std::string> srun_command(const EngineOptions& options, const Cell& cell, const std::string& folder) {
  std::vector<std::string> out{options.program,
                               "--job-name=stepgauge",
                               fmt::format("--nodes={}", cell.ddp.nodes),
                               fmt::format("--ntasks={}", cell.ddp.ranks),
                               fmt::format("--ntasks-per-node={}", ranks_per_node(cell)),
                               "--kill-on-bad-exit=1",
                               "--input=none",
                               "--unbuffered",
                               "--export=NONE",
                               "--cpu-bind=none",
                               "--overlap",
                               "--chdir=" + folder};
  if (cell.ddp.oversubscribe) out.push_back("--overcommit");
  if (cell.ddp.backend != "mpi") out.push_back("--mpi=none");
  return out;
}

EngineVersion unusable(std::string problem) {
  return {"", "", std::move(problem)};
}

}  // namespace

std::string_view to_string(Engine engine) {
  return engine == Engine::mpirun ? "mpirun" : "srun";
}

std::vector<EngineHost> parse_hosts(const std::string& text) {
  std::vector<EngineHost> out;
  std::string_view rest(text);
  while (true) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto item = rest.substr(0, comma);
    const auto colon = item.find(':');
    const auto slots = colon == std::string_view::npos ? std::nullopt : std::optional(item.substr(colon + 1));
    add_host(out, make_host(item.substr(0, colon), slots, "--hosts"), "--hosts");
    if (comma == rest.size()) return out;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<EngineHost> parse_hostfile(const std::string& text, const std::string& origin) {
  std::vector<EngineHost> out;
  std::string_view rest(text);
  for (int number = 1; !rest.empty(); ++number) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    const auto where = fmt::format("{}:{}", origin, number);
    if (words.size() > 2 || (words.size() == 2 && !words[1].starts_with("slots="))) {
      throw std::invalid_argument(
          fmt::format("{}: expected \"name\" or \"name slots=N\", found \"{}\"", where, words.back()));
    }
    const auto slots = words.size() == 2 ? std::optional(words[1].substr(6)) : std::nullopt;
    add_host(out, make_host(words[0], slots, where), where);
  }
  if (out.empty()) throw std::invalid_argument(origin + ": names no host");
  return out;
}

EngineVersion find_engine(Engine engine) {
  const std::string name(to_string(engine));
  const char* path = std::getenv("PATH");
  auto program = find_program(name, path == nullptr ? "" : path);
  const bool mpi = engine == Engine::mpirun;
  const std::string install =
      mpi ? "Debian and Ubuntu: apt install openmpi-bin" : "Debian and Ubuntu: apt install slurm-client";
  if (program.empty()) return unusable(fmt::format("{} is not on PATH ({})", name, install));
  const auto answer = machine::run_captured({program, "--version"});
  if (answer.exit_code != 0) return unusable(fmt::format("{} --version: {}", program, answer.problem()));
  const auto line = answer.out.substr(0, answer.out.find('\n'));
  if (!mpi) return {line, program, ""};
  const std::string prefix = "mpirun (Open MPI) ";
  if (!line.starts_with(prefix)) {
    return unusable(fmt::format("{} is not Open MPI's but \"{}\" ({})", program, line, install));
  }
  return {"Open MPI " + line.substr(prefix.size()), program, ""};
}

bool inside_allocation(Engine engine) {
  if (std::getenv("SLURM_JOB_ID") != nullptr) return true;
  return engine == Engine::mpirun && (std::getenv("PBS_NODEFILE") != nullptr || std::getenv("LSB_HOSTS") != nullptr);
}

std::string placement_problem(const Cell& cell, Engine engine, const std::vector<EngineHost>& hosts) {
  const auto nodes = static_cast<std::size_t>(cell.ddp.nodes);
  const int each = ranks_per_node(cell);
  if (cell.ddp.ranks % cell.ddp.nodes != 0) {
    return fmt::format("{} ranks cannot be spread evenly over {} nodes", cell.ddp.ranks, nodes);
  }
  if (engine != Engine::mpirun) return {};
  if (hosts.empty()) {
    if (nodes == 1 || inside_allocation(engine)) return {};
    return fmt::format("needs {} hosts: --hosts or --hostfile names them", nodes);
  }
  if (hosts.size() < nodes) return fmt::format("needs {} hosts, {} given", nodes, hosts.size());
  for (std::size_t i = 0; i < nodes; ++i) {
    if (!hosts[i].slots || *hosts[i].slots >= each || cell.ddp.oversubscribe) continue;
    return fmt::format("needs {} ranks on host {}, which has {} slots (ddp.oversubscribe allows more)", each,
                       hosts[i].name, *hosts[i].slots);
  }
  return {};
}

std::vector<std::string> engine_command(const EngineOptions& options, const Cell& cell, const std::string& folder) {
  auto out = options.engine == Engine::mpirun ? mpirun_command(options, cell) : srun_command(options, cell, folder);
  for (const auto& word : {options.agent, std::string("rank-agent"), folder}) out.push_back(word);
  return out;
}

EngineWords read_engine_words(Engine engine, std::string_view text) {
  EngineWords out;
  const std::string all(text);
  std::smatch match;
  if (engine == Engine::srun) {
    static const std::regex cancelled(
        R"(\*\*\* (?:JOB|STEP) [0-9.+_a-z]+ ON (\S+) CANCELLED AT \S+(?: (DUE TO [^*]+?))? \*\*\*)");
    static const std::regex failed(R"((?:Node failure on|[Nn]ode fail\w* on) ([A-Za-z0-9._-]+))");
    if (std::regex_search(all, match, cancelled)) {
      out.cancelled_why = match[2].str();
      if (out.cancelled_why.starts_with("DUE TO NODE FAILURE")) {
        out.lost_host = match[1].str();
      } else {
        out.cancelled = true;
      }
    } else if (std::regex_search(all, match, failed)) {
      out.lost_host = match[1].str();
    } else if (all.find("has been cancelled") != std::string::npos ||
               all.find("Job allocation has been revoked") != std::string::npos) {
      out.cancelled = true;
    }
    return out;
  }
  static const std::regex lost(R"(Remote daemon:\s+\[\[[0-9,\]]+,?[0-9]*\] on node ([A-Za-z0-9._-]+))");
  if (all.find("lost communication with a remote daemon") != std::string::npos && std::regex_search(all, match, lost))
    out.lost_host = match[1].str();
  return out;
}

}  // namespace stepgauge::launch
