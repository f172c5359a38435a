#include "launch/launch_session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <system_error>

#include "launch/environment.hpp"
#include "machine/machine.hpp"

namespace stepgauge::launch {
namespace {

constexpr double user_grace_s = 2;
constexpr double tick_s = 1;
constexpr double poll_without_pidfd_s = 0.005;
constexpr double kill_again_s = 0.05;
constexpr double kill_patience_s = 10;
constexpr double signal_takes_s = 0.1;
constexpr std::size_t read_at_once = 1u << 20;  // a pipe cannot keep the others, or the clocks, waiting for longer

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::string new_launch_id() {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}-{}-{}", ::getpid(), monotonic_ns(), counter++);
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::system_clock::to_time_t(time);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// Without fsync: the cell is in the run's own files; this copy is for the ranks.
void write_plain(const std::filesystem::path& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  bool good = static_cast<bool>(file);
  while (good && !text.empty()) {
    const auto count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    good = count > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (!good) throw std::system_error(errno, std::generic_category(), path.string() + ": cannot write");
}

}  // namespace

LaunchSession::LaunchSession(const LaunchRequest& request, const OnProgress& on_progress)
    : request_(request), on_progress_(on_progress), launch_id_(new_launch_id()), tree_(launch_id_) {
  if (request.command.empty() || request.command.front().empty()) throw std::invalid_argument("the command is empty");
  if (request.cell.ddp.ranks < 1) throw std::invalid_argument("a launch needs at least one rank");
  records_.resize(static_cast<std::size_t>(request.cell.ddp.ranks));
}

LaunchSession::~LaunchSession() {
  if (over_) return;
  try {  // an exception is on its way: nothing may be left running
    tree_.send(SIGKILL);
    ranks_.clear();
    tree_.end(
        false, [] { return 0.0; }, [] { ::poll(nullptr, 0, 5); });
  } catch (const std::exception&) {
  }
}

LaunchOutcome LaunchSession::run() {
  prepare_folder();
  if (interrupt_pending()) {
    interrupted_ = facts_.stopped_by_user = true;
  } else {
    start_ranks();
    watch_ranks();
    end_leftovers();
  }
  return conclude();
}

void LaunchSession::prepare_folder() {
  std::filesystem::create_directories(request_.folder);
  folder_ = std::filesystem::absolute(request_.folder);
  write_plain(folder_ / "cell.json", dump_pretty(to_json(request_.cell)));
  ranks_.reserve(records_.size());
  for (int rank = 0; rank < request_.cell.ddp.ranks; ++rank) ranks_.emplace_back(rank, folder_);
}

void LaunchSession::start_ranks() {
  const auto store = ranks_.size() > 1 ? ListenSocket::open() : ListenSocket();
  try {
    for (std::size_t i = 0; i < ranks_.size(); ++i) start_rank(ranks_[i], static_cast<int>(i), store);
  } catch (const std::system_error& error) {
    facts_.start_error =
        fmt::format("cannot start {}: {}", request_.command.front(), std::strerror(error.code().value()));
    stop_ranks(false);
  }
}

void LaunchSession::start_rank(RankWatch& rank, int index, const ListenSocket& store) {
  const auto shell = machine::all_variables();
  RankPlace place;
  place.launch = request_.launch;
  place.rank = index;
  place.cell_path = (folder_ / "cell.json").string();
  place.record_path = rank.record_path().string();
  if (request_.cell.measure.trace_steps > 0) place.trace_path = (folder_ / trace_file_name(index)).string();
  place.nccl_log_path = (folder_ / nccl_log_name(index)).string();
  if (request_.memory_history) place.memory_history_path = (folder_ / memory_history_name(index)).string();
  place.cache_path = cache_folder(index);
  place.launch_id = launch_id_;
  place.progress_fd = SpawnPlan::progress_fd;
  place.master_port = store.port;
  place.devices = request_.devices;
  place.usable_cores = machine::usable_cores();
  if (store.fd && index == 0) place.store_fd = SpawnPlan::store_fd;
  if (static_cast<std::size_t>(index) < request_.used_before_mib.size()) {
    place.used_before_mib = request_.used_before_mib[static_cast<std::size_t>(index)];
  }
  place.spawn_ns = monotonic_ns();
  auto environment = rank_environment(shell, request_.cell, place);

  SpawnPlan plan;
  const auto path = environment.variables.find("PATH");
  plan.program = find_program(request_.command.front(),
                              path == environment.variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second);
  plan.arguments = request_.command;
  for (const auto& [name, value] : environment.variables) plan.environment.push_back(name + "=" + value);
  if (place.store_fd) plan.store = store.fd.get();
  rank.connect(plan);
  surroundings_.conflicts = std::move(environment.conflicts);
  rank.start(plan);
  if (request_.on_rank_started) request_.on_rank_started(index, rank.process().pid());
}

std::string LaunchSession::cache_folder(int rank) const {
  if (request_.cell.cache.empty()) return "";
  const auto caches = request_.caches.empty() ? folder_ / cold_cache_name : std::filesystem::absolute(request_.caches);
  const auto path = caches / rank_cache_name(rank);
  std::filesystem::create_directories(path);
  return path.string();
}

bool LaunchSession::any_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const RankWatch& rank) { return rank.running(); });
}

void LaunchSession::watch_ranks() {
  while (any_running()) {
    const double wait_s = apply_clocks();
    if (stage_ == Stage::killing && now_s() - stage_since_s_ > kill_patience_s) {
      surroundings_.notes.push_back("a rank could not be killed and was left: it is stuck in the kernel");
      return;
    }
    wait_for_news(wait_s);
  }
}

void LaunchSession::wait_for_news(double wait_s) {
  std::vector<pollfd> polls;
  bool blind = false;
  for (const auto& rank : ranks_) {
    rank.add_poll(polls);
    blind |= rank.running() && !rank.has_pidfd();
  }
  if (request_.interrupt_fd >= 0 && !interrupted_) polls.push_back({request_.interrupt_fd, POLLIN, 0});
  if (blind) wait_s = std::min(wait_s, poll_without_pidfd_s);
  const int wait_ms = static_cast<int>(std::clamp(wait_s * 1000 + 0.999, 0.0, 60'000.0));
  if (::poll(polls.data(), polls.size(), wait_ms) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  take_news();
}

void LaunchSession::take_news() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto& rank = ranks_[i];
    const bool was_running = rank.running();
    if (rank.read_pipes(now_s(), read_at_once)) tell(static_cast<int>(i));
    if (was_running && rank.try_reap(now_s())) note_end(rank, static_cast<int>(i));
  }
  if (!interrupted_ && interrupt_pending()) {
    interrupted_ = true;
    if (any_running()) stop_ranks(true);
  }
  if (now_s() - last_tick_s_ >= tick_s && !ranks_.empty()) tell(0);
}

void LaunchSession::note_end(RankWatch& rank, int index) {
  rank.read_pipes(now_s(), read_at_once);  // what it said last
  auto& record = records_[static_cast<std::size_t>(index)];
  record = read_rank_record(rank.record_path(), request_.cell, request_.launch, index);
  const bool well = rank.process().exit_code() == 0 && record.record && record.record->status == Status::ok;
  if (!well && stage_ == Stage::running) {
    stage_ = Stage::sibling_grace;
    stage_since_s_ = now_s();
  }
}

double LaunchSession::apply_clocks() {
  const double left_s = stage_since_s_ + grace_s() - now_s();
  switch (stage_) {
    case Stage::running:
      return check_limits();
    case Stage::sibling_grace:
      if (left_s > 0) return std::min(left_s, tick_s);
      stop_ranks(false);
      return 0;
    case Stage::terminating:
      if (left_s > 0) return std::min(left_s, tick_s);
      kill_ranks();
      stage_ = Stage::killing;
      stage_since_s_ = now_s();
      return kill_again_s;
    case Stage::killing:
      kill_ranks();
      return kill_again_s;
  }
  return tick_s;
}

double LaunchSession::check_limits() {
  const auto& limits = request_.cell.limits;
  double next_s = std::min(tick_s, limits.launch_s - now_s());
  if (next_s <= 0) {
    declare_hung(deadline_limit, limits.launch_s);
    return 0;
  }
  const auto [limit, limit_s] = silence_limit();
  for (const auto& rank : ranks_) {
    if (!rank.running()) continue;
    const double left_s = rank.last_sign_s() + limit_s - now_s();
    if (left_s <= 0) {
      declare_hung(limit, limit_s);
      return 0;
    }
    next_s = std::min(next_s, left_s);
  }
  return next_s;
}

std::pair<const char*, double> LaunchSession::silence_limit() const {
  const auto& cell = request_.cell;
  const bool compiling = std::any_of(ranks_.begin(), ranks_.end(), [&](const RankWatch& rank) {
    return rank.running() && may_compile(cell.compile, rank.progress().phase());
  });
  if (compiling) return {compile_limit, cell.limits.compile_s};
  return {silence_limit_name, cell.limits.silence_s};
}

void LaunchSession::declare_hung(const char* limit, double limit_s) {
  std::vector<RankState> states;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const auto& rank = ranks_[i];
    states.push_back(
        {static_cast<int>(i), rank.running(), rank.progress().phase(), rank.progress().step(), rank.last_sign_s()});
  }
  facts_.hang = describe_hang(limit, limit_s, now_s(), states);
  stop_ranks(false);
}

void LaunchSession::stop_ranks(bool by_user) {
  if (by_user) {
    const bool ending_already = stage_ != Stage::running;
    facts_.stopped_by_user = !ending_already;
    if (stage_ == Stage::terminating || stage_ == Stage::killing) return;  // the shorter grace holds from now on
  }
  for (auto& rank : ranks_) {
    if (rank.running()) rank.mark_killed_by_harness();
  }
  tree_.send(SIGTERM);
  stage_ = Stage::terminating;
  stage_since_s_ = now_s();
}

void LaunchSession::kill_ranks() {
  tree_.send(SIGKILL);
  for (auto& rank : ranks_) {
    if (rank.running()) rank.process().send(SIGKILL);
  }
}

void LaunchSession::end_leftovers() {
  const auto idle = [&] { wait_for_news(poll_without_pidfd_s); };
  const bool signalled = stage_ == Stage::terminating || stage_ == Stage::killing;
  if (signalled) tree_.wait_until_gone([] { return signal_takes_s; }, idle);  // what obeys was not left behind
  surroundings_.left_behind = tree_.running();
  const double since_s = now_s();
  const double granted_s = signalled ? stage_since_s_ : since_s;
  const auto grace_left_s = [&] { return granted_s + grace_s() - since_s; };
  if (!tree_.end(stage_ != Stage::killing, grace_left_s, idle)) {
    surroundings_.notes.push_back("a process left behind could not be killed: it is stuck in the kernel");
  }
  take_news();
}

void LaunchSession::tell(int rank) {
  last_tick_s_ = now_s();
  if (!on_progress_) return;
  const auto& progress = ranks_[static_cast<std::size_t>(rank)].progress();
  on_progress_({rank, progress.phase(), progress.step(), last_tick_s_});
}

bool LaunchSession::interrupt_pending() const {
  pollfd item{request_.interrupt_fd, POLLIN, 0};
  return request_.interrupt_fd >= 0 && ::poll(&item, 1, 0) > 0 && (item.revents & POLLIN) != 0;
}

double LaunchSession::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double LaunchSession::grace_s() const {
  const double grace = request_.cell.limits.grace_s;
  return interrupted_ ? std::min(grace, user_grace_s) : grace;
}

LaunchOutcome LaunchSession::conclude() {
  LaunchOutcome out;
  const double start_unix_s = std::chrono::duration<double>(started_at_.time_since_epoch()).count();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    auto rank = ranks_[i].finish();
    rank.record = std::move(records_[i].record);
    rank.record_error = rank.record                 ? std::string()
                        : records_[i].error.empty() ? std::string(no_record)
                                                    : records_[i].error;
    if (records_[i].written_unix_s) rank.record_s = *records_[i].written_unix_s - start_unix_s;
    facts_.ranks.push_back(std::move(rank));
    for (auto& error : ranks_[i].log_errors()) surroundings_.notes.push_back(std::move(error));
  }
  const auto judgement = judge(facts_);
  const auto note = [&](const std::vector<std::string>& lines) {
    surroundings_.notes.insert(surroundings_.notes.end(), lines.begin(), lines.end());
  };
  if (judgement.status != Status::ok) note(shared_memory_hints(facts_.ranks));
  note(shared_memory_.clean());
  out.status = judgement.status;
  out.reason = judgement.reason;
  out.evidence = evidence_json(facts_, surroundings_, out.status);
  out.ranks = std::move(facts_.ranks);
  out.duration_s = now_s();
  out.started_at = utc_text(started_at_);
  out.began = start_;
  out.interrupted = interrupted_;
  over_ = true;
  return out;
}

}  // namespace stepgauge::launch
