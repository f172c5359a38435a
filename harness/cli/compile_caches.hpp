#pragma once
// The compile caches of a run's launches: an empty folder in the launch's own for a cold start, and for a warm one a
// folder of the run that an earlier launch has filled: one of the same cell with `cache: cold` where the run has it.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "contract/cell.hpp"

namespace stepgauge::cli {

/// What a worker leaves in its folder of caches once they are good (docs/worker_contract.md).
inline constexpr const char* cache_stamp = "stamp.json";

/// RUN/caches/HASH, shared by the warm launches of a cell.
std::filesystem::path warm_caches(const std::filesystem::path& run, const Cell& cell);

/// The same text for cells that differ by their cache alone.
std::string but_for_its_cache(const Cell& cell);

/// The cell of `cells` that is `cell` but has `cache: warm`; null when there is none.
const Cell* warm_twin(const Cell& cell, const std::vector<Cell>& cells);

/// The launch that filled these caches, as told to note_filled(); nullopt when they are not filled: nobody did, or a
/// rank's stamp is missing.
std::optional<std::string> filled_by(const std::filesystem::path& caches, int ranks);

/// Remembers who filled the caches. Returns why they are not good after all: a rank left no stamp; else "".
std::string note_filled(const std::filesystem::path& caches, int ranks, const std::string& launch);

/// Sum of the files below, in MiB; what vanishes meanwhile counts as nothing.
double folder_mib(const std::filesystem::path& folder);

/// The cell as it is launched to fill its caches: a cold start of the same identity, which compiles what the cell
/// compiles and measures little.
Cell filling_cell(Cell cell);

}  // namespace stepgauge::cli
