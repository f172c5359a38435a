#include "launch/launch_session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "contract/clock.hpp"
#include "launch/clock.hpp"
#include "machine/unique_fd.hpp"

namespace stepgauge::launch {
namespace {

constexpr double tick_s = 1;
constexpr double leftover_look_s = 0.005;
constexpr double kill_again_s = 0.05;
constexpr double kill_patience_s = 10;

/// Without fsync: the cell is in the run's own files; this copy is for the ranks.
void write_plain(const std::filesystem::path& path, std::string_view text) {
  const machine::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
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

std::string new_launch_id() {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}-{}-{}", ::getpid(), monotonic_ns(), counter++);
}

void prepare_folder(const LaunchRequest& request) {
  if (request.command.empty() || request.command.front().empty()) throw std::invalid_argument("the command is empty");
  if (request.cell.ddp.ranks < 1) throw std::invalid_argument("a launch needs at least one rank");
  std::filesystem::create_directories(request.folder);
  write_plain(request.folder / cell_file_name, dump_pretty(to_json(request.cell)));
}

LaunchSession::LaunchSession(const LaunchRequest& request, std::unique_ptr<RankGroup> group,
                             const OnProgress& on_progress)
    : request_(request), on_progress_(on_progress), group_(std::move(group)) {
  records_.resize(group_->states().size());
}

LaunchSession::~LaunchSession() {
  if (over_) return;
  try {  // an exception is on its way: nothing may be left running
    group_->abandon();
    group_->tree().end(
        false, [] { return 0.0; }, [] { ::poll(nullptr, 0, 5); });
    group_->end_elsewhere();
  } catch (const std::exception&) {
  }
}

LaunchOutcome LaunchSession::run() {
  if (interrupt_pending()) {
    interrupted_ = facts_.stopped_by_user = true;
  } else {
    start_ranks();
    watch_ranks();
    end_leftovers();
    group_->end_elsewhere();
  }
  return conclude();
}

void LaunchSession::start_ranks() {
  facts_.start_error = group_->start(now_s());
  if (!facts_.start_error.empty()) stop_ranks(false);
}

void LaunchSession::watch_ranks() {
  while (group_->running()) {
    const double wait_s = apply_clocks();
    if (stage_ == Stage::killing && now_s() - stage_since_s_ > kill_patience_s) {
      surroundings_.notes.push_back("a rank could not be killed and was left: it is stuck in the kernel");
      return;
    }
    wait_for_news(wait_s);
  }
}

void LaunchSession::wait_for_news(double wait_s) {
  group_->wait(wait_s, interrupted_ ? -1 : request_.interrupt_fd);
  take_news();
}

void LaunchSession::take_news() {
  const auto news = group_->take_news(now_s());
  for (const auto index : news.told) tell(index);
  for (const auto index : news.ended) note_end(index);
  if (!interrupted_ && interrupt_pending()) {
    interrupted_ = true;
    if (group_->running()) stop_ranks(true);
  }
  if (now_s() - last_tick_s_ >= tick_s && !records_.empty()) tell(0);
}

void LaunchSession::note_end(std::size_t index) {
  const int rank = group_->states()[index].rank;
  auto& record = records_[index];
  record = read_rank_record(request_.folder / rank_record_name(rank), request_.cell, request_.launch, rank);
  const bool well = group_->ended_well(index) && record.record && record.record->status == Status::ok;
  if (!well && stage_ == Stage::running) {
    stage_ = Stage::sibling_grace;
    stage_since_s_ = now_s();
  }
}

double LaunchSession::apply_clocks() {
  const double left_s = stage_since_s_ + grace_s() - now_s();
  if ((stage_ == Stage::running || stage_ == Stage::sibling_grace) && group_->broken(now_s())) stop_ranks(false);
  switch (stage_) {
    case Stage::running:
      return check_limits();
    case Stage::sibling_grace:
      if (left_s > 0) return std::min(left_s, tick_s);
      stop_ranks(false);
      return 0;
    case Stage::terminating:
      if (now_s() - stage_since_s_ < grace_s() + group_->extra_grace_s()) return std::min(0.1, tick_s);
      group_->kill(now_s());
      stage_ = Stage::killing;
      stage_since_s_ = now_s();
      return kill_again_s;
    case Stage::killing:
      group_->kill(now_s());
      return kill_again_s;
  }
  return tick_s;
}

double LaunchSession::check_limits() {
  const auto& limits = request_.cell.limits;
  double next_s = std::min(tick_s, limits.launch_s + group_->waited_s(now_s()) - now_s());
  if (next_s <= 0) {
    declare_hung(deadline_limit, limits.launch_s);
    return 0;
  }
  const auto states = group_->states();
  const auto [limit, limit_s] = silence_limit(states);
  for (const auto& rank : states) {
    if (!rank.running) continue;
    const double left_s = rank.last_sign_s + limit_s - now_s();
    if (left_s <= 0) {
      declare_hung(limit, limit_s);
      return 0;
    }
    next_s = std::min(next_s, left_s);
  }
  return next_s;
}

std::pair<const char*, double> LaunchSession::silence_limit(const std::vector<RankState>& states) const {
  const auto& cell = request_.cell;
  const bool compiling = std::any_of(states.begin(), states.end(), [&](const RankState& rank) {
    return rank.running && may_compile(cell.compile, rank.phase);
  });
  if (compiling) return {compile_limit, cell.limits.compile_s};
  return {silence_limit_name, cell.limits.silence_s};
}

void LaunchSession::declare_hung(const char* limit, double limit_s) {
  facts_.hang = describe_hang(limit, limit_s, now_s(), group_->states());
  stop_ranks(false);
}

void LaunchSession::stop_ranks(bool by_user) {
  if (by_user) {
    const bool ending_already = stage_ != Stage::running;
    facts_.stopped_by_user = !ending_already;
    if (stage_ == Stage::terminating || stage_ == Stage::killing) return;  // the shorter grace holds from now on
  }
  group_->terminate();
  stage_ = Stage::terminating;
  stage_since_s_ = now_s();
}

void LaunchSession::end_leftovers() {
  auto& tree = group_->tree();
  const auto idle = [&] { wait_for_news(leftover_look_s); };
  const bool signalled = stage_ == Stage::terminating || stage_ == Stage::killing;
  const double settle_s = group_->settle_s(signalled);
  if (settle_s > 0) tree.wait_until_gone([&] { return settle_s; }, idle);
  surroundings_.left_behind = tree.running();
  const double since_s = now_s();
  const double granted_s = signalled ? stage_since_s_ : since_s;
  const auto grace_left_s = [&] { return granted_s + grace_s() - since_s; };
  if (!tree.end(stage_ != Stage::killing, grace_left_s, idle)) {
    surroundings_.notes.push_back("a process left behind could not be killed: it is stuck in the kernel");
  }
  take_news();
}

void LaunchSession::tell(std::size_t index) {
  last_tick_s_ = now_s();
  if (!on_progress_) return;
  const auto state = group_->states()[index];
  on_progress_({state.rank, state.phase, state.step, last_tick_s_, state.last_sign_s});
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
  return interrupted_ ? std::min(grace, request_.interrupt_grace_s) : grace;
}

LaunchOutcome LaunchSession::conclude() {
  LaunchOutcome out;
  const double start_unix_s = unix_s(started_at_);
  auto exits = group_->finish();
  for (std::size_t i = 0; i < exits.size(); ++i) {
    auto& rank = exits[i];
    rank.record = std::move(records_[i].record);
    rank.record_error = rank.record                 ? std::string()
                        : records_[i].error.empty() ? std::string(no_record)
                                                    : records_[i].error;
    if (records_[i].written_unix_s) rank.record_s = *records_[i].written_unix_s - start_unix_s;
  }
  facts_.ranks = std::move(exits);
  group_->explain(facts_, surroundings_);
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
