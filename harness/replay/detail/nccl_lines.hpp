#pragma once
// What NCCL prints of each call: "HOST:PID:TID [DEV] NCCL INFO AllReduce: opCount 1a sendbuff ... count 64 datatype 7
// op 0 root 0 comm 0x... [nranks=2] stream 0x...". Ranks and communicators are in the lines of its initialisation.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/detail/line_reader.hpp"
#include "replay/detail/log_builder.hpp"

namespace stepgauge::replay::detail {

class NcclLines {
 public:
  explicit NcclLines(LogBuilder& into) : into_(into) {}

  void line(std::string_view line, const LineReader& lines, std::optional<std::int64_t> rank);

  /// Gives the calls of every process to its rank: the one that a line or the file's name says, else the rank in the
  /// largest communicator, else processes are numbered by host and device, which a note says.
  void finish();

 private:
  struct Communicator {
    std::int64_t rank = -1, ranks = 0;
    std::string id;  ///< equal on all ranks; "": not printed
    std::size_t order = 0;
    std::int64_t first_count = 0;  ///< opCount of the first call
    std::vector<std::uint32_t> ops;
  };
  struct Process {
    std::optional<std::int64_t> rank;
    std::string origin;
    std::map<std::string, Communicator> communicators;
  };
  /// Host, then process and device.
  using Key = std::pair<std::string, std::pair<std::int64_t, std::string>>;

  void call(Process& process, std::string_view line, std::string_view text, const LineReader& lines);
  void initialised(Process& process, std::string_view text);
  static std::int64_t own_rank(const Process& process);
  void give(const Process& process, std::int64_t rank);

  LogBuilder& into_;
  std::map<Key, Process> processes_;
};

}  // namespace stepgauge::replay::detail
