#pragma once
// What a rank does once it is set up, pass by pass; what each pass finds goes into the record.
#include "contract/record.hpp"
#include "worker/rank_setup.hpp"

namespace stepgauge::worker {

/// The loop with its probed and traced steps, then, as the cell asks: sweep, census, the ideal step, parity. The
/// program is given up on the way, and the group is shut down. Throws what Torch and the program throw; what could not
/// be traced is said in the record and costs the launch nothing else.
void run_passes(RankParts& parts, RankRecord& record);

/// The collectives of another run in place of a model. Throws std::runtime_error for one rank.
void run_replay(RankParts& parts, RankRecord& record);

}  // namespace stepgauge::worker
