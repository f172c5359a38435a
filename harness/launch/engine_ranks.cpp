#include "launch/engine_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <system_error>

#include "contract/lower_case.hpp"
#include "contract/plural.hpp"
#include "launch/clock.hpp"
#include "launch/engine_request.hpp"
#include "launch/network.hpp"
#include "launch/rendezvous.hpp"
#include "launch/text.hpp"
#include "machine/machine.hpp"

namespace stepgauge::launch {
namespace {

constexpr double look_s = 0.02;           ///< at the agents' files
constexpr double look_per_rank_s = 5e-4;  ///< and not more than this share of a core
constexpr double tell_alive_every_s = 1;
constexpr double idle_engine_s = 5;  ///< how long the engine may take to end after its last rank
constexpr double term_to_kill_s = 2;
constexpr std::size_t read_at_once = 1u << 20;
constexpr std::size_t shown_lines = 20;

std::string exit_text(const RankExit& exit) {
  if (exit.signal) return "died by " + signal_text(*exit.signal);
  if (exit.exit_code) return fmt::format("ended with exit code {}", *exit.exit_code);
  return "did not end";
}

}  // namespace

EngineRanks::EngineRanks(const LaunchRequest& request, const EngineOptions& options, const std::string& launch_id)
    : RankGroup(launch_id),
      request_(request),
      options_(options),
      launch_id_(launch_id),
      here_(host_name()),
      folder_(std::filesystem::absolute(request.folder)),
      engine_("engine", folder_) {
  for (const auto* name : {stop_file_name, rendezvous_file_name, launcher_alive_name}) {
    std::filesystem::remove(folder_ / name);
  }
  for (int rank = 0; rank < request.cell.ddp.ranks; ++rank) {
    std::filesystem::remove_all(folder_ / rank_record_name(rank));
    std::filesystem::remove(folder_ / agent_log_name(rank));
    views_.emplace_back(folder_, rank);
  }
  told_ended_.resize(views_.size());
  told_started_.resize(views_.size());
  start_unix_s_ = unix_s();
}

std::string EngineRanks::start(double now_s) {
  start_unix_s_ = unix_s() - now_s;
  try {
    write_text_file((folder_ / engine_file_name).string(),
                    dump_pretty(to_json(make_engine_request(request_, options_.engine, launch_id_))));
    tell_that_launcher_lives(now_s);
    SpawnPlan plan;
    plan.program = options_.program;
    plan.arguments = engine_command(options_, request_.cell, folder_.string());
    for (const auto& [name, value] : machine::all_variables()) plan.environment.push_back(name + "=" + value);
    plan.death_signal = SIGTERM;  // it gives back what it holds: a job of Slurm outlives a killed srun
    engine_.connect(plan);
    engine_.start(plan);
  } catch (const std::system_error& error) {
    return fmt::format("cannot start {}: {}", options_.program, error.what());
  }
  return {};
}

bool EngineRanks::heard() const {
  return std::any_of(views_.begin(), views_.end(), [](const AgentView& view) { return view.heard(); });
}

double EngineRanks::waited_s(double now_s) const {
  if (first_heard_s_) return options_.engine == Engine::srun ? *first_heard_s_ : 0;
  const bool queued = options_.engine == Engine::srun && !inside_allocation(options_.engine);
  return queued ? now_s : 0;
}

std::vector<RankState> EngineRanks::states() const {
  const double waited = waited_s(in_launch_s(unix_s()));
  std::vector<RankState> out;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const auto& view = views_[i];
    const auto sign = view.sign_unix_s();
    out.push_back({static_cast<int>(i), engine_.running() && !view.exit(), view.phase(), view.step(),
                   sign ? in_launch_s(*sign) : waited});
  }
  return out;
}

bool EngineRanks::running() const {
  return engine_.running() || awaits_agents();
}

bool EngineRanks::awaits_agents() const {
  if (!engine_ended_s_ || in_launch_s(unix_s()) - *engine_ended_s_ > settle_s(true)) return false;
  return std::any_of(views_.begin(), views_.end(),
                     [](const AgentView& view) { return view.heard() && !view.exit() && view.refusal().empty(); });
}

std::vector<std::size_t> EngineRanks::orphans() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const auto& exit = views_[i].exit();
    if (!exit || exit->exit.killed_by_harness) out.push_back(i);
  }
  return out;
}

bool EngineRanks::all_ended() const {
  return std::all_of(views_.begin(), views_.end(), [](const AgentView& view) { return view.exit().has_value(); });
}

void EngineRanks::wait(double wait_s, int wake_fd) {
  std::vector<pollfd> polls;
  engine_.add_poll(polls);
  poll_for(std::move(polls), std::min(wait_s, look_s + look_per_rank_s * static_cast<double>(views_.size())), wake_fd);
}

RankNews EngineRanks::take_news(double now_s) {
  RankNews news;
  engine_.read_pipes(now_s, read_at_once);
  const bool engine_ended = engine_.started() && engine_.try_reap(now_s);
  const bool just_ended = engine_ended && !engine_ended_s_;
  if (engine_ended) engine_.read_pipes(now_s, read_at_once);
  if (just_ended) engine_ended_s_ = now_s;
  read_engine_log();
  if (engine_.running()) tell_that_launcher_lives(now_s);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    auto& view = views_[i];
    if (view.read(start_unix_s_ + now_s)) news.told.push_back(i);
    if (view.heard() && !first_heard_s_) first_heard_s_ = now_s;
    if (view.worker() && !told_started_[i]) {
      told_started_[i] = true;
      if (view.host() == here_ && request_.on_rank_started)
        request_.on_rank_started(static_cast<int>(i), *view.worker());
    }
    if (told_ended_[i] || (!view.exit() && (!engine_ended || awaits_agents()))) continue;
    told_ended_[i] = true;
    news.ended.push_back(i);
  }
  if (just_ended && !all_ended()) write_stop_file();  // not every engine takes its ranks along
  if (all_ended() && !all_ended_s_) all_ended_s_ = now_s;
  end_idle_engine(now_s);
  return news;
}

void EngineRanks::end_idle_engine(double now_s) {
  if (!all_ended_s_ || !engine_.running() || stopped_ || now_s - *all_ended_s_ < idle_engine_s) return;
  engine_idle_ = true;
  kill(now_s);
}

void EngineRanks::read_engine_log() {
  if (stopped_ || engine_.error_log().total_bytes() == words_bytes_) return;
  words_bytes_ = engine_.error_log().total_bytes();
  words_ = read_engine_words(options_.engine, engine_.error_log().tail());
}

void EngineRanks::tell_that_launcher_lives(double now_s) {
  if (alive_told_s_ >= 0 && now_s - alive_told_s_ < tell_alive_every_s) return;
  alive_told_s_ = now_s;
  const machine::UniqueFd file(
      ::open((folder_ / launcher_alive_name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  [[maybe_unused]] const auto written = ::write(file.get(), ".", 1);
}

bool EngineRanks::ended_well(std::size_t index) const {
  const auto& exit = views_[index].exit();
  return exit && exit->exit.exit_code == 0;
}

std::vector<std::size_t> EngineRanks::lost() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (!views_[i].exit()) out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> EngineRanks::ranks_on(const std::string& host) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (views_[i].node() == host || views_[i].host() == host) out.push_back(i);
  }
  const auto& hosts = options_.hosts;
  const auto place =
      std::find_if(hosts.begin(), hosts.end(), [&](const EngineHost& item) { return item.name == host; });
  if (!out.empty() || place == hosts.end()) return out;
  // Named by an address: ranks fill the hosts in order.
  const auto each = static_cast<std::size_t>(machine::ranks_per_node(request_.cell));
  const auto first = static_cast<std::size_t>(place - hosts.begin()) * each;
  for (auto rank = first; rank < std::min(first + each, views_.size()); ++rank) out.push_back(rank);
  return out;
}

std::string EngineRanks::hosts_text(const std::vector<std::size_t>& ranks) const {
  std::map<std::string, std::vector<std::size_t>> by_host;
  for (const auto rank : ranks) by_host[views_[rank].node()].push_back(rank);
  std::vector<std::string> parts;
  for (const auto& [host, members] : by_host)
    parts.push_back(fmt::format("host {} vanished ({})", host, numbered("rank", members)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::optional<Judgement> EngineRanks::trouble(double now_s) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (const auto& reason = views_[i].refusal(); !reason.empty()) {
      return Judgement{Status::crashed,
                       fmt::format("rank {} on {} refuses: {}", i, views_[i].node(), printable(reason, 1000))};
    }
  }
  if (words_.cancelled) {
    const auto why = lower_case(words_.cancelled_why);
    return Judgement{Status::skipped, why.empty() ? "cancelled by Slurm" : fmt::format("cancelled by Slurm ({})", why)};
  }
  if (!words_.lost_host.empty()) {
    const auto there = ranks_on(words_.lost_host);
    const auto& node = there.empty() ? words_.lost_host : views_[there.front()].node();
    auto name =
        node.empty() || node == words_.lost_host ? words_.lost_host : fmt::format("{} ({})", node, words_.lost_host);
    if (!there.empty()) name += fmt::format(" vanished ({})", numbered("rank", there));
    return Judgement{Status::crashed, fmt::format("host {}: {} lost it", name, to_string(options_.engine))};
  }
  std::vector<std::size_t> silent;
  double longest_s = 0;
  for (const auto rank : lost()) {
    const double silent_s = now_s - in_launch_s(views_[rank].heard_unix_s());
    if (!views_[rank].heard() || silent_s < host_silence_s) continue;
    silent.push_back(rank);
    longest_s = std::max(longest_s, silent_s);
  }
  if (silent.empty()) return std::nullopt;
  return Judgement{Status::crashed, fmt::format("{}: no word for {:.0f} s", hosts_text(silent), longest_s)};
}

bool EngineRanks::broken(double now_s) const {
  if (!trouble_ && !stopped_) trouble_ = trouble(now_s);
  return trouble_.has_value();
}

double EngineRanks::extra_grace_s() const {
  return 3;  // agents learn of the end through a file, and tell theirs through another
}

double EngineRanks::settle_s(bool) const {
  return request_.cell.limits.grace_s + extra_grace_s();  // agents that lost the engine end their ranks in order
}

void EngineRanks::write_stop_file() noexcept {
  const machine::UniqueFd file(::open((folder_ / stop_file_name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

void EngineRanks::terminate() {
  stopped_ = true;
  write_stop_file();
  if (!heard() && engine_.running()) engine_.process().send(SIGTERM);  // nobody is there to read it
}

void EngineRanks::kill(double now_s) {
  if (!kill_since_s_) {
    kill_since_s_ = now_s;
    write_stop_file();
    if (engine_.running()) engine_.process().send(SIGTERM);
    return;
  }
  if (now_s - *kill_since_s_ < term_to_kill_s) return;
  tree().send(SIGKILL);
  if (engine_.running()) engine_.process().send(SIGKILL);
}

void EngineRanks::abandon() noexcept {
  write_stop_file();
  if (engine_.running()) engine_.process().send(SIGTERM);
  ::poll(nullptr, 0, 200);
  tree().send(SIGKILL);
  if (engine_.running()) engine_.process().send(SIGKILL);
}

RankExit EngineRanks::exit_of(const AgentView& view) const {
  RankExit out;
  if (!view.exit()) {
    out.host = view.node();
    out.killed_by_harness = true;  // no failure of its own: explain() says what became of it
    out.last_phase = view.phase();
    out.last_step = view.step();
    if (const auto sign = view.sign_unix_s()) out.last_sign_s = in_launch_s(*sign);
    return out;
  }
  out = view.exit()->exit;
  const double shift_s = in_launch_s(view.here(view.exit()->began_unix_s));
  out.last_sign_s += shift_s;
  out.ended_s += shift_s;
  for (auto& phase : out.phases) phase.at_s = std::max(0.0, phase.at_s + shift_s);
  return out;
}

std::vector<RankExit> EngineRanks::finish() {
  std::vector<RankExit> out;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    out.push_back(exit_of(views_[i]));
    out.back().rank = static_cast<int>(i);
  }
  return out;
}

std::optional<Judgement> EngineRanks::ended_without_word(const LaunchFacts& facts) const {
  const auto missing = orphans();
  const bool failed = std::any_of(facts.ranks.begin(), facts.ranks.end(),
                                  [](const RankExit& rank) { return !went_well(rank) && !rank.killed_by_harness; });
  if (missing.empty() || failed) return std::nullopt;
  const auto lines = facts.engine.at("last_lines");
  auto reason = fmt::format("{} {} without a word of {}", to_string(options_.engine),
                            facts.engine.at("ended").get<std::string>(), numbered("rank", missing));
  if (!lines.empty()) reason += "; last line: " + lines.back().get<std::string>();
  return Judgement{Status::crashed, reason};
}

void EngineRanks::explain(LaunchFacts& facts, Surroundings& surroundings) {
  const auto engine = engine_.finish();
  facts.engine = {{"program", options_.program},
                  {"exit_code", engine.exit_code ? Json(*engine.exit_code) : Json(nullptr)},
                  {"signal", engine.signal ? Json(signal_text(*engine.signal)) : Json(nullptr)},
                  {"ended", exit_text(engine)},
                  {"last_lines", last_lines(engine_.error_log().tail(), shown_lines)}};
  if (!trouble_ && !stopped_) trouble_ = trouble(0);
  if (!trouble_ && !stopped_ && facts.start_error.empty()) trouble_ = ended_without_word(facts);
  facts.group = trouble_;

  auto& notes = surroundings.notes;
  std::map<std::string, std::vector<std::size_t>> elsewhere;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const auto& view = views_[i];
    if (!view.host().empty() && view.host() != here_) elsewhere[view.node()].push_back(i);
    if (!view.trouble().empty())
      notes.push_back(fmt::format("{}: {}", agent_log_name(static_cast<int>(i)), view.trouble()));
    if (!view.exit()) continue;
    for (const auto& process : view.exit()->left_behind) surroundings.left_behind.push_back(process);
    if (surroundings.conflicts.empty()) surroundings.conflicts = view.exit()->conflicts;
    for (const auto& note : view.exit()->notes) notes.push_back(note);
  }
  for (const auto& [host, ranks] : elsewhere) {
    notes.push_back(
        fmt::format("{} ran on {}: the health of that host was not sampled", numbered("rank", ranks), host));
  }
  if (engine_idle_)
    notes.push_back(fmt::format("{} did not end after its last rank and was ended", to_string(options_.engine)));
  if (const double queued_s = waited_s(0); queued_s >= 1) {
    notes.push_back(fmt::format("the ranks were started after {:.1f} s, which count against no limit", queued_s));
  }
}

}  // namespace stepgauge::launch
