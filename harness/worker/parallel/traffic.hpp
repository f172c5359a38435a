#pragma once
// What a rank hands to collectives, counted always: a payload in bytes and a number of calls by kind.
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace stepgauge::worker {

struct Traffic {
  std::int64_t calls = 0, bytes = 0;
};
/// By kind: "all_reduce", "all_gather", "broadcast", ...
using TrafficByKind = std::map<std::string, Traffic>;

inline TrafficByKind operator-(TrafficByKind after, const TrafficByKind& before) {
  for (const auto& [kind, traffic] : before) {
    after[kind].calls -= traffic.calls;
    after[kind].bytes -= traffic.bytes;
  }
  return after;
}

/// Any thread may count.
class TrafficCounter {
 public:
  enum class Kind { all_reduce, all_gather, broadcast, reduce, reduce_scatter, all_to_all, barrier };

  void count(Kind kind, std::int64_t bytes) {
    auto& counted = counted_[static_cast<std::size_t>(kind)];
    counted.calls.fetch_add(1, std::memory_order_relaxed);
    counted.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  TrafficByKind now() const {
    TrafficByKind out;
    for (std::size_t i = 0; i < kinds; ++i) out[names[i]] = {counted_[i].calls, counted_[i].bytes};
    return out;
  }
  static const char* name(Kind kind) { return names[static_cast<std::size_t>(kind)]; }

 private:
  static constexpr std::size_t kinds = 7;
  static constexpr const char* names[kinds] = {"all_reduce",     "all_gather", "broadcast", "reduce",
                                               "reduce_scatter", "all_to_all", "barrier"};
  struct Counted {
    std::atomic<std::int64_t> calls{0}, bytes{0};
  };
  Counted counted_[kinds];
};

}  // namespace stepgauge::worker
