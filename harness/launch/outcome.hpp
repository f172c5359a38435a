#pragma once
// From what happened to the one status of a launch: pure functions.
#include <optional>
#include <string>
#include <vector>

#include "launch/environment.hpp"
#include "launch/launcher.hpp"
#include "launch/tree_killer.hpp"

namespace stepgauge::launch {

/// A rank as it stood when a clock ran out.
struct RankState {
  int rank = 0;
  bool running = true;
  std::string phase;
  std::optional<std::int64_t> step;
  double last_sign_s = 0;
};

/// The clocks: the launch's, a rank's, and a rank's while a mode that compiles may do so.
inline constexpr const char* deadline_limit = "deadline";
inline constexpr const char* silence_limit_name = "silence";
inline constexpr const char* compile_limit = "compile";

/// Whether a rank in this phase may be compiling without a word: compile, first_step and warmup of every mode that
/// compiles; runtime of Python modes (its libraries load there); verify and census, which compile references.
bool may_compile(const std::string& mode, const std::string& phase);

/// A clock that ran out.
struct Hang {
  std::string limit;
  double limit_s = 0;
  double at_s = 0;
  std::optional<int> odd_rank;  ///< absent when every rank stands at the same place, or is still making progress
  std::string reason;
};

/// Names the odd rank: of the ranks that run and are silent, the one that got least far (phase, then step), then the
/// one silent for longest (by more than a second).
Hang describe_hang(const std::string& limit, double limit_s, double now_s, const std::vector<RankState>& states);

struct Judgement {
  Status status = Status::ok;
  std::string reason;
};

struct LaunchFacts {
  std::vector<RankExit> ranks;
  std::optional<Hang> hang;
  bool stopped_by_user = false;
  std::string start_error;         ///< "cannot start WORKER: ..."
  std::optional<Judgement> group;  ///< what the launch as a whole died of: a host vanished, the job was cancelled
  Json engine;                     ///< of the engine that started the ranks; null without one
  Json container{};                ///< where the ranks ran; null: on this host itself
};

/// `ok` when every rank exited with 0 and left a valid record that says ok. Otherwise the status of the first rank that
/// failed by itself. The time of a failure is when a record that is not ok was written, else when the rank ended; of
/// failures within 50 ms of the first (the clocks' resolution under load), a death by signal goes before a status that
/// a record gives, and that before any other crash.
Judgement judge(const LaunchFacts& facts);

/// Ended well: exit code 0 and a record that says ok.
bool went_well(const RankExit& rank);

struct Surroundings {
  std::vector<LeftBehind> left_behind;
  std::vector<EnvironmentConflict> conflicts;
  std::vector<std::string> notes;
};

Json evidence_json(const LaunchFacts& facts, const Surroundings& surroundings, Status status);

}  // namespace stepgauge::launch
