#pragma once
// Lines that print collectives among whatever else a program prints: TORCH_DISTRIBUTED_DEBUG=DETAIL (fingerprints and
// mismatch errors of the process group's wrapper) and NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL.
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "replay/detail/line_reader.hpp"
#include "replay/detail/log_builder.hpp"
#include "replay/detail/nccl_lines.hpp"

namespace stepgauge::replay::detail {

/// Takes the lines of any number of files; the ranks' lines may be mixed.
class TextLogs {
 public:
  explicit TextLogs(LogBuilder& into) : into_(into), nccl_(into) {}

  /// `rank`: of lines that do not name one, e.g. from the file's name.
  void read(LineReader& lines, std::optional<std::int64_t> rank);
  /// After the last file.
  void finish();

 private:
  /// Several process groups print alike and count each for itself: a number continues the group whose last one is the
  /// number before.
  struct Counted {
    std::string group;
    std::int64_t last = 0;
  };
  /// What an error says of a collective, maybe another rank's. It counts where the rank itself printed none.
  struct Reported {
    std::int64_t rank = 0, sequence = 0;
    Op op;
    std::string path;
    std::size_t line = 0;
  };
  void fingerprints(std::string_view line, const LineReader& lines, std::optional<std::int64_t> rank);
  void add(const Reported& one);
  bool printed(const Reported& one);

  LogBuilder& into_;
  NcclLines nccl_;
  std::map<std::int64_t, std::vector<Counted>> ranks_;
  std::vector<Reported> reported_;
};

/// "[rank3]:", "[Rank 3]", "rank 3:" of torchrun and c10d, "[1,3]<stdout>" of mpirun, at the beginning of a line.
std::optional<std::int64_t> rank_in_prefix(std::string_view line);

/// The number behind `name` in the text, in base 10 or 16.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view name, int base = 10);

}  // namespace stepgauge::replay::detail
