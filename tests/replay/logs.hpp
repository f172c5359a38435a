#pragma once
// Logs of collectives as files, written the way their writers do.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "contract/json_io.hpp"
#include "replay/reader.hpp"
#include "replay/view.hpp"

namespace stepgauge::replay::test {

inline constexpr std::int64_t ms = 1'000'000;

/// A folder of logs that goes with the test.
class Folder : public stepgauge::test::TemporaryFolder {
 public:
  CollectiveLog read() const { return read_logs({path()}); }
};

inline std::string data(const std::string& name) {
  const char* source = std::getenv("STEPGAUGE_SOURCE_DIR");
  EXPECT_NE(source, nullptr) << "run through ctest, or set STEPGAUGE_SOURCE_DIR";
  return std::string(source == nullptr ? "" : source) + "/tests/replay/data/" + name;
}

inline std::string header(int rank, int world_size) {
  return Json{{"schema", "stepgauge.collective_log"},
              {"version", 1},
              {"rank", rank},
              {"world_size", world_size},
              {"clock", "unix_ns"},
              {"backend", "gloo"},
              {"launch", "test"}}
             .dump() +
         "\n";
}

/// One collective of one rank.
struct Call {
  std::int64_t sequence = 0;
  std::string kind = "all_reduce";
  std::int64_t bytes = 4096;
  std::string site = "backward";
  std::int64_t enter = 0;
  std::int64_t end = not_ended;
  std::string dtype = "float32";
};

inline std::string line(const Call& call) {
  return Json::array({call.sequence, call.kind, call.bytes, call.bytes + 1, call.site, call.enter,
                      call.end == not_ended ? Json(nullptr) : Json(call.end), call.dtype, call.bytes / 4})
             .dump() +
         "\n";
}

/// Call number i of a healthy step of five: sizes repeat, the last is a barrier.
inline Call healthy(int rank, int i) {
  constexpr std::int64_t sizes[] = {4096, 1 << 20, 65536, 256, 0};
  Call call;
  call.sequence = i;
  call.bytes = sizes[i % 5];
  if (i % 5 == 4) call.kind = "barrier";
  const std::int64_t clock = rank * 7'000'123'456LL;  // every rank on a clock of its own
  call.enter = clock + i * 10 * ms + (rank * 37 + i * 11) % 5 * ms / 10;
  call.end = clock + i * 10 * ms + 2 * ms;
  return call;
}

/// The calls of a rank; `change` may alter one, or leave it out by false.
using Change = std::function<bool(int rank, Call&)>;
inline std::string rank_log(int rank, int world_size, int calls, const Change& change = {}) {
  auto text = header(rank, world_size);
  for (int i = 0; i < calls; ++i) {
    auto call = healthy(rank, i);
    if (!change || change(rank, call)) text += line(call);
  }
  return text;
}

inline CollectiveLog run_of(int ranks, int calls, const Change& change = {}) {
  const Folder folder;
  for (int rank = 0; rank < ranks; ++rank) {
    folder.write("rank" + std::to_string(rank) + ".collectives.jsonl", rank_log(rank, ranks, calls, change));
  }
  return folder.read();
}

}  // namespace stepgauge::replay::test
