// Stands for mpirun where there is none: takes its command line and starts the agents on this host, with what Open MPI
// would tell them. FAKE_ENGINE says how it misbehaves.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

std::vector<pid_t> agents;

extern "C" void pass_on(int signal) {
  for (const auto agent : agents) ::kill(agent, signal);
}

std::string value_after(const std::vector<std::string>& words, const std::string& flag) {
  const auto found = std::find(words.begin(), words.end(), flag);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

void set(const char* name, int value) {
  ::setenv(name, std::to_string(value).c_str(), 1);
}

pid_t start_agent(std::vector<std::string>& command, int rank, int ranks, int local_ranks) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  set("OMPI_COMM_WORLD_RANK", rank);
  set("OMPI_COMM_WORLD_SIZE", ranks);
  set("OMPI_COMM_WORLD_LOCAL_RANK", rank % local_ranks);
  set("OMPI_COMM_WORLD_LOCAL_SIZE", std::min(local_ranks, ranks));
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(words[0], words.data());
  ::_exit(127);
}

bool worker_steps(const std::string& folder, int rank) {
  const auto log = std::filesystem::path(folder) / ("rank" + std::to_string(rank) + ".agent.jsonl");
  std::error_code error;
  return std::filesystem::file_size(log, error) > 600 && !error;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> words(values + 1, values + count);
  const int ranks = std::atoi(value_after(words, "-np").c_str());
  const auto layout = value_after(words, "--map-by");
  const int local_ranks = std::atoi(layout.c_str() + std::strlen("ppr:"));
  const auto agent = std::find(words.begin(), words.end(), "rank-agent");
  const char* set_mode = std::getenv("FAKE_ENGINE");
  const std::string mode = set_mode == nullptr ? "" : set_mode;
  if (ranks < 1 || local_ranks < 1 || agent == words.end()) return 2;
  if (mode == "refuses") {
    std::fputs("there are not enough slots\n", stderr);
    return 1;
  }
  ::signal(SIGTERM, pass_on);
  std::vector<std::string> command(agent - 1, words.end());
  const int started = mode == "one-too-few" ? ranks - 1 : ranks;
  for (int rank = 0; rank < started; ++rank) agents.push_back(start_agent(command, rank, started, local_ranks));
  if (mode.starts_with("lose") || mode == "die") {
    while (!worker_steps(command.back(), ranks - 1)) ::usleep(10'000);
    if (mode == "lose-agent") ::kill(agents.back(), SIGSTOP);
    if (mode == "die") ::raise(SIGKILL);
  }
  for (std::size_t left = agents.size(); left > 0;) {
    if (::waitpid(-1, nullptr, 0) > 0) {
      --left;
    } else if (errno == ECHILD) {
      break;
    }
  }
  return 0;
}
