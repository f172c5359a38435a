#pragma once
// rank<r>.collectives.jsonl (docs/collective_log.md): every collective of a rank, written while it runs, so that a rank
// that hangs or is killed leaves what it did.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "worker/device_stamps.hpp"

namespace stepgauge::worker {

/// What a rank hands to a collective. The texts are literals.
struct CollectiveShape {
  const char* kind = "other";   ///< all_reduce, broadcast, ...
  const char* dtype = nullptr;  ///< of the first tensor, e.g. "float32"; nullptr: no tensor
  std::int64_t bytes = 0, count = 0;
  std::uint64_t hash = 0;  ///< equal for equal sizes of all tensors; 0: no tensor
};

class CollectiveLog {
 public:
  struct Facts {
    int rank = 0, world_size = 1;
    std::string backend, launch;
  };
  using Clock = std::chrono::system_clock;

  /// Makes the file anew with its header. `stamps`: times are the device's, since the host only submits its
  /// collectives; nullptr: the host's. Throws std::system_error.
  CollectiveLog(const std::string& path, const Facts& facts, std::unique_ptr<DeviceStamps> stamps = nullptr);
  /// Writes what is left; ends that come later are lost.
  ~CollectiveLog();
  CollectiveLog(const CollectiveLog&) = delete;
  CollectiveLog& operator=(const CollectiveLog&) = delete;

  /// Any thread may call these; neither waits for the disk. nullopt: the collective is captured into a graph, and does
  /// not run when it is called; it is not logged. With stamps `end` is called once the collective was submitted, with
  /// the current stream behind it.
  std::optional<std::uint64_t> enter(const CollectiveShape& shape);
  void end(std::uint64_t sequence);

  /// The call site of what is entered from now on.
  void phase(std::string_view name);
  /// Between these nothing is logged and no sequence number is given. Every rank does so at the same place.
  void pause() { set_paused(true); }
  void resume() { set_paused(false); }
  bool paused() const;

  /// Waits until all that was entered has ended, at most `patience`: waiters of a collective go on before its end is
  /// told here.
  void wait_for_ends(std::chrono::milliseconds patience);
  /// Writes everything now, collectives that have not ended with null.
  void flush();
  /// Why the log is not whole; empty: it is.
  std::string problem() const;

 private:
  struct Entry {
    CollectiveShape shape;
    std::size_t phase = 0;
    std::int64_t enter_ns = 0, end_ns = 0;  ///< 0: not yet
  };
  /// A collective of a device whose times are not known yet.
  struct Submitted {
    std::uint64_t sequence = 0;
    std::size_t enter = 0;           ///< point of the stamps
    std::optional<std::size_t> end;  ///< none before it is submitted
  };
  struct Times {
    std::uint64_t sequence = 0;
    std::int64_t enter_ns = 0, end_ns = 0;  ///< enter_ns 0: stays as it was written
  };
  /// Where in the file a collective that had not ended has its times.
  struct Place {
    std::int64_t enter = 0, end = 0;
  };

  void set_paused(bool paused);
  void keep_writing();
  void write_due(bool all);
  void read_stamps();
  void set_times(const Times& times);
  void write_at(std::int64_t offset, std::string_view text);

  const std::unique_ptr<DeviceStamps> stamps_;
  const int file_;
  std::int64_t size_ = 0;               ///< of the file; with writing_
  mutable std::mutex mutex_, writing_;  ///< writing_ before mutex_
  std::condition_variable wake_, ended_;
  std::uint64_t running_ = 0;            ///< entered and not ended
  std::deque<Entry> entries_;            ///< not yet written, in order
  std::uint64_t written_ = 0;            ///< sequence number of the first of entries_
  std::deque<Submitted> submitted_;      ///< in order
  std::vector<Times> late_;              ///< of written ones
  std::map<std::uint64_t, Place> open_;  ///< with writing_: written ones without an end
  std::vector<std::string> phases_{"spawn"};
  std::string problem_;
  bool paused_ = false, stopping_ = false;
  std::thread writer_;
};

}  // namespace stepgauge::worker
