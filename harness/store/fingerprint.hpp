#pragma once
// What makes two runs incomparable: the machine, by stable fields only.
#include <string>
#include <string_view>

#include "contract/json_io.hpp"

namespace stepgauge::store {

/// `environment` is machine::to_json, or holds it as "machine". Out come {"cpu": {"model", "cores"}} and, for runs that
/// use GPUs,
/// {"gpus": [{"model", "memory_gib", "count"}], "links": {kind: number of pairs}}. Memory is the nominal size of the
/// card (drivers report a little less each). Index, UUID, PCI address, driver and Torch are not in it. {} when the
/// machine data that it needs is missing: such a run compares with nothing.
Json fingerprint(const Json& environment, bool uses_gpu);

/// `value["fingerprint"]` of a run or baseline as it was written: ContractError for another shape, naming `where` and
/// the field. {} and null stand for missing machine data.
Json read_fingerprint(const Json& value, std::string_view where);

/// Readable, then 8 hex digits over the whole: "2x-nvidia-h200-nvlink-1a2b3c4d",
/// "cpu-intel-xeon-processor-2c-9f8e7d6c". "unknown-machine" for {}.
std::string fingerprint_slug(const Json& fingerprint);

/// Of what is gone on with here: "began on another machine (SLUG, this is SLUG); start a new one"; empty where both are
/// the same.
std::string moved_text(const Json& began, const Json& now);

}  // namespace stepgauge::store
