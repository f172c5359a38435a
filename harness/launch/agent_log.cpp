#include "launch/agent_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "contract/optional_json.hpp"
#include "launch/clock.hpp"
#include "launch/text.hpp"
#include "machine/unique_fd.hpp"

namespace stepgauge::launch {
namespace {

constexpr std::size_t line_cap = 1u << 20;

template <typename Value>
std::optional<Value> optional_of(const Json& value, const char* key) {
  if (!value.contains(key) || value.at(key).is_null()) return std::nullopt;
  return value.at(key).get<Value>();
}

Json exit_json(const RankExit& exit) {
  auto phases = Json::array();
  for (const auto& phase : exit.phases) phases.push_back({phase.phase, phase.at_s});
  return {{"pid", exit.pid},
          {"exit_code", json_of(exit.exit_code)},
          {"signal", json_of(exit.signal)},
          {"killed_by_harness", exit.killed_by_harness},
          {"last_phase", exit.last_phase},
          {"last_step", json_of(exit.last_step)},
          {"phases", phases},
          {"last_sign_s", exit.last_sign_s},
          {"ended_s", exit.ended_s},
          {"last_lines", exit.last_lines},
          {"out_bytes", exit.out_bytes},
          {"err_bytes", exit.err_bytes},
          {"dropped_bytes", exit.dropped_bytes},
          {"user_s", exit.user_s},
          {"system_s", exit.system_s},
          {"max_rss_kib", exit.max_rss_kib},
          {"voluntary_switches", exit.voluntary_switches},
          {"involuntary_switches", exit.involuntary_switches},
          {"minor_faults", exit.minor_faults},
          {"major_faults", exit.major_faults}};
}

RankExit exit_from(const Json& value) {
  RankExit out;
  out.pid = value.at("pid").get<pid_t>();
  out.exit_code = optional_of<int>(value, "exit_code");
  out.signal = optional_of<int>(value, "signal");
  out.killed_by_harness = value.at("killed_by_harness").get<bool>();
  out.last_phase = value.at("last_phase").get<std::string>();
  out.last_step = optional_of<std::int64_t>(value, "last_step");
  for (const auto& phase : value.at("phases")) {
    out.phases.push_back({phase.at(0).get<std::string>(), phase.at(1).get<double>()});
  }
  out.last_sign_s = value.at("last_sign_s").get<double>();
  out.ended_s = value.at("ended_s").get<double>();
  out.last_lines = value.at("last_lines").get<std::vector<std::string>>();
  out.out_bytes = value.at("out_bytes").get<std::uint64_t>();
  out.err_bytes = value.at("err_bytes").get<std::uint64_t>();
  out.dropped_bytes = value.at("dropped_bytes").get<std::uint64_t>();
  out.user_s = value.at("user_s").get<double>();
  out.system_s = value.at("system_s").get<double>();
  out.max_rss_kib = value.at("max_rss_kib").get<std::int64_t>();
  out.voluntary_switches = value.at("voluntary_switches").get<std::int64_t>();
  out.involuntary_switches = value.at("involuntary_switches").get<std::int64_t>();
  out.minor_faults = value.at("minor_faults").get<std::int64_t>();
  out.major_faults = value.at("major_faults").get<std::int64_t>();
  return out;
}

AgentExit agent_exit_from(const Json& value) {
  AgentExit out;
  out.exit = exit_from(value.at("exit"));
  out.began_unix_s = value.at("began").get<double>();
  for (const auto& process : value.at("left_behind")) {
    out.left_behind.push_back(
        {optional_of<int>(process, "rank"), process.at("pid").get<pid_t>(), process.at("command").get<std::string>()});
  }
  for (const auto& conflict : value.at("conflicts")) {
    out.conflicts.push_back(
        {conflict.at(0).get<std::string>(), conflict.at(1).get<std::string>(), conflict.at(2).get<std::string>()});
  }
  out.notes = value.at("notes").get<std::vector<std::string>>();
  return out;
}

}  // namespace

std::string agent_log_name(int rank) {
  return rank_name(rank) + ".agent.jsonl";
}

AgentLog::AgentLog(const std::filesystem::path& folder, int rank) {
  path_ = folder / agent_log_name(rank);
  const machine::UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw std::system_error(errno, std::generic_category(), path_.string() + ": cannot write");
}

void AgentLog::line(Json value) {
  value["t"] = unix_s();
  const auto text = dump_line(value) + "\n";
  const machine::UniqueFd file(
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));  // its end sends a network file off
  [[maybe_unused]] const auto written = ::write(file.get(), text.data(), text.size());
}

void AgentLog::started(const std::string& node, const std::string& host, pid_t agent) {
  line({{"event", "started"}, {"node", node}, {"host", host}, {"pid", agent}});
}

void AgentLog::refused(const std::string& reason) {
  line({{"event", "refused"}, {"reason", reason}});
}

void AgentLog::worker(pid_t pid) {
  line({{"event", "worker"}, {"pid", pid}});
}

void AgentLog::alive(const std::string& phase, std::optional<std::int64_t> step, std::optional<double> sign_unix_s) {
  line({{"event", "alive"}, {"phase", phase}, {"step", json_of(step)}, {"sign", json_of(sign_unix_s)}});
}

void AgentLog::exited(const AgentExit& exit) {
  Json value{{"event", "exit"},
             {"exit", exit_json(exit.exit)},
             {"began", exit.began_unix_s},
             {"left_behind", Json::array()},
             {"conflicts", Json::array()},
             {"notes", exit.notes}};
  for (const auto& process : exit.left_behind) {
    value["left_behind"].push_back(
        {{"rank", json_of(process.rank)}, {"pid", process.pid}, {"command", process.command}});
  }
  for (const auto& conflict : exit.conflicts) {
    value["conflicts"].push_back(Json::array({conflict.name, conflict.shell, conflict.cell}));
  }
  line(std::move(value));
}

AgentView::AgentView(const std::filesystem::path& folder, int rank)
    : path_(folder / agent_log_name(rank)), rank_(rank) {}

bool AgentView::read(double now_unix_s) {
  const machine::UniqueFd file(
      ::open(path_.c_str(), O_RDONLY | O_CLOEXEC));  // anew each time: a network file looks again then
  if (!file) return false;
  bool changed = false;
  std::array<char, 16u << 10> buffer;
  while (true) {
    const auto count = ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset_));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return changed;
    offset_ += static_cast<std::uint64_t>(count);
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    while (!bytes.empty()) {
      const auto newline = bytes.find('\n');
      if (partial_.size() < line_cap) partial_ += bytes.substr(0, newline);
      if (newline == std::string_view::npos) break;
      changed |= take(partial_, now_unix_s);
      partial_.clear();
      bytes.remove_prefix(newline + 1);
    }
  }
}

bool AgentView::take(std::string_view text, double now_unix_s) {
  try {
    const auto value = parse_json(text, path_.filename().string());
    const auto event = value.at("event").get<std::string>();
    const auto told = value.at("t").get<double>();
    heard_unix_s_ = now_unix_s;
    least_lag_s_ = std::min(least_lag_s_.value_or(now_unix_s - told), now_unix_s - told);
    if (event == "alive") {
      const auto phase = value.at("phase").get<std::string>();
      const auto step = optional_of<std::int64_t>(value, "step");
      const bool changed = phase != phase_ || step != step_;
      phase_ = phase;
      step_ = step;
      sign_unix_s_ = optional_of<double>(value, "sign");
      return changed;
    }
    if (event == "started") {
      node_ = value.at("node").get<std::string>();
      host_ = value.at("host").get<std::string>();
    }
    if (event == "refused") refusal_ = value.at("reason").get<std::string>();
    if (event == "worker") {
      worker_ = value.at("pid").get<pid_t>();
      sign_unix_s_ = told;
    }
    if (event == "exit") {
      exit_ = agent_exit_from(value);
      exit_->exit.rank = rank_;
      exit_->exit.host = node_;
    }
  } catch (const std::exception& error) {
    trouble_ = fmt::format("a line that cannot be read: {}", printable(error.what(), 200));
  }
  return true;
}

double AgentView::here(double agent_unix_s) const {
  const double lag_s = least_lag_s_.value_or(0);
  return std::abs(lag_s) < clocks_agree_s ? agent_unix_s : agent_unix_s + lag_s;
}

std::optional<double> AgentView::sign_unix_s() const {
  if (!sign_unix_s_) return std::nullopt;
  return here(*sign_unix_s_);
}

}  // namespace stepgauge::launch
