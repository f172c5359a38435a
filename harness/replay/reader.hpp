#pragma once
// Logs of collectives in: our own, PyTorch's flight recorder (JSON or pickle), what TORCH_DISTRIBUTED_DEBUG=DETAIL
// prints, and what NCCL prints with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL.
#include <stdexcept>
#include <string>
#include <vector>

#include "replay/collective_log.hpp"

namespace stepgauge::replay {

/// No file held a collective that could be read; what() says of the first files why.
class NothingUsable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReadLimits {
  std::size_t records = 100'000'000;      ///< collectives of all ranks; more is refused
  std::size_t file_bytes = 256u << 20;    ///< of a flight recorder's pickle, which is held as a whole
  std::size_t pickle_values = 8'000'000;  ///< in one pickle
};

/// Reads files, and the regular files of folders (not of folders within them). The kind of a file is recognised from
/// its content. A damaged file costs what is behind the damage, a foreign one nothing; the log's notes say so. Memory
/// is 24 bytes per collective and rank, not that of the text. Throws ContractError for a path that does not exist or
/// cannot be read, NothingUsable when nothing is left.
CollectiveLog read_logs(const std::vector<std::string>& paths, const ReadLimits& limits = {});

}  // namespace stepgauge::replay
