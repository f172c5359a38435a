#pragma once
// The last collectives of a rank, kept always, and how ranks compare theirs after a failure.
#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace stepgauge::worker {

struct LastCollective {
  std::int64_t sequence = 0;
  std::string kind;
  std::int64_t bytes = 0;
};

/// Any thread may add and look.
class LastCollectives {
 public:
  /// `kind` is a literal.
  void add(const char* kind, std::int64_t bytes);
  std::vector<LastCollective> now() const;  ///< oldest first

 private:
  struct Slot {
    const char* kind = "";
    std::int64_t bytes = 0;
  };
  static constexpr std::int64_t kept = 64;

  mutable std::mutex mutex_;
  std::array<Slot, kept> slots_;
  std::int64_t count_ = 0;
};

/// The first collective that two ranks made differently: "collective 57 differs: all_reduce of 800 bytes on rank 1,
/// all_reduce of 400 bytes on ranks 0, 2", the fewest ranks first; empty where all agree. Ranks without any are silent.
std::string first_difference(const std::vector<std::vector<LastCollective>>& by_rank);

/// Publishes `mine` in the store, waits at most half a second for the other ranks to do the same, and compares.
std::string compare_through(c10d::Store& store, const std::vector<LastCollective>& mine, int rank, int ranks);

}  // namespace stepgauge::worker
