#include "cli/compile_caches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contract/json_io.hpp"
#include "launch/launcher.hpp"

namespace stepgauge::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* note_name = "filled_by.txt";
constexpr std::int64_t filling_steps = 5;

std::optional<int> rank_without_stamp(const fs::path& caches, int ranks) {
  std::error_code error;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!fs::is_regular_file(caches / launch::rank_cache_name(rank) / cache_stamp, error)) return rank;
  }
  return std::nullopt;
}

}  // namespace

std::string but_for_its_cache(const Cell& cell) {
  auto out = to_json(cell);
  for (const auto* key : {"id", "hash", "cache"}) out.erase(key);
  return dump_line(out);
}

const Cell* warm_twin(const Cell& cell, const std::vector<Cell>& cells) {
  const auto wanted = but_for_its_cache(cell);
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& other) {
    return other.cache == "warm" && other.compile == cell.compile && other.workload.family == cell.workload.family &&
           but_for_its_cache(other) == wanted;
  });
  return found != cells.end() ? &*found : nullptr;
}

fs::path warm_caches(const fs::path& run, const Cell& cell) {
  return run / "caches" / cell.hash;
}

std::optional<std::string> filled_by(const fs::path& caches, int ranks) {
  std::error_code error;
  if (!fs::is_regular_file(caches / note_name, error) || rank_without_stamp(caches, ranks)) return std::nullopt;
  auto launch = read_text_file((caches / note_name).string());
  while (launch.ends_with('\n')) launch.pop_back();
  return launch;
}

std::string note_filled(const fs::path& caches, int ranks, const std::string& launch) {
  if (const auto rank = rank_without_stamp(caches, ranks)) {
    return fmt::format("rank {} left no {} in its caches: its worker does not say that they are good", *rank,
                       cache_stamp);
  }
  write_text_file((caches / note_name).string(), launch + "\n");
  return "";
}

double folder_mib(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const auto size = at->file_size(gone);
    if (!gone) bytes += size;
  }
  return static_cast<double>(bytes) / (1 << 20);
}

Cell filling_cell(Cell cell) {
  cell.cache = "cold";
  auto& measure = cell.measure;
  measure.steps = std::min(measure.steps, filling_steps);
  measure.trace_steps = measure.parity_steps = 0;
  measure.keep_trace = measure.graphs = measure.ir_census = false;
  return cell;
}

}  // namespace stepgauge::cli
