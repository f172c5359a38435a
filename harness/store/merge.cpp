#include "store/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace stepgauge::store {
namespace {

using Attempt = std::tuple<std::string, int, int>;  ///< cell id, launch, attempt

struct Kept {
  LaunchRecord record;
  std::string run;
};

void require_same(const RunFolder& first, const RunFolder& other) {
  const auto name = [](const RunFolder& run) { return run.path().string(); };
  if (first.info().suite != other.info().suite || first.info().suite_hash != other.info().suite_hash) {
    throw RunConflict(fmt::format("{} and {} are runs of different suites (\"{}\", \"{}\", or one text changed since)",
                                  name(first), name(other), first.info().suite, other.info().suite));
  }
  if (first.info().fingerprint != other.info().fingerprint) {
    throw RunConflict(fmt::format("{} and {} were measured on different machines", name(first), name(other)));
  }
}

/// Shards of one run start the same image under one name.
void add_images(RunInfo& into, const RunFolder& from) {
  const auto images = from.info().environment.find("containers");
  if (images == from.info().environment.end() || !images->is_object()) return;
  auto& known = into.environment["containers"];
  for (const auto& [worker, image] : images->items()) {
    if (known.is_object() && known.contains(worker) && known.at(worker) != image)
      throw RunConflict(fmt::format("{}: worker \"{}\" is another image, or of another container engine, than in {}",
                                    from.path().string(), worker, into.merged.front()));
    known[worker] = image;
  }
}

void add_cells(RunInfo& into, const RunInfo& from) {
  for (const auto& cell : from.cells) {
    const bool known =
        std::any_of(into.cells.begin(), into.cells.end(), [&](const Cell& other) { return other.id == cell.id; });
    if (!known) into.cells.push_back(cell);
  }
}

/// A cell that no run launched, once: what it lacks goes before its being in another part.
void add_skipped(RunInfo& into, const RunInfo& from) {
  for (const auto& skipped : from.skipped) {
    const auto same_id = [&](const auto& other) { return other.id == skipped.id; };
    if (std::any_of(into.cells.begin(), into.cells.end(), same_id)) continue;
    const auto known = std::find_if(into.skipped.begin(), into.skipped.end(), same_id);
    if (known == into.skipped.end()) {
      into.skipped.push_back(skipped);
    } else if (skipped.status == Status::unsupported) {
      *known = skipped;
    }
  }
}

RunInfo merged_info(const std::vector<RunFolder>& runs) {
  auto info = runs.front().info();
  info.skipped.clear();
  info.shard = nullptr;
  for (const auto& run : runs) {
    require_same(runs.front(), run);
    add_cells(info, run.info());
    info.created_at = std::min(info.created_at, run.info().created_at);
    info.merged.push_back(run.path().string());
    add_images(info, run);
  }
  for (const auto& run : runs) add_skipped(info, run.info());
  return info;
}

std::vector<LaunchRecord> merged_records(const std::vector<RunFolder>& runs) {
  std::map<Attempt, Kept> kept;
  std::vector<LaunchRecord> out;
  for (const auto& run : runs) {
    for (const auto& record : run.records()) {
      const auto [place, fresh] =
          kept.try_emplace({record.cell_id, record.launch, record.attempt}, Kept{record, run.path().string()});
      if (fresh) {
        out.push_back(record);
      } else if (to_json(place->second.record) != to_json(record)) {
        throw RunConflict(fmt::format("launch {} of cell \"{}\" is in {} and in {}, with different results",
                                      record.launch, record.cell_id, place->second.run, run.path().string()));
      }
    }
  }
  return out;
}

}  // namespace

RunFolder merge_runs(const std::filesystem::path& out, const std::vector<std::filesystem::path>& paths) {
  std::vector<RunFolder> runs;
  for (const auto& path : paths) runs.push_back(RunFolder::open(path));
  if (runs.empty()) throw std::invalid_argument("no run to merge");
  auto info = merged_info(runs);
  const auto records = merged_records(runs);
  auto merged = RunFolder::create(out, std::move(info));
  constexpr auto how = std::filesystem::copy_options::recursive | std::filesystem::copy_options::skip_existing;
  for (const auto& run : runs) {
    const auto launches = run.path() / "launches";
    if (std::filesystem::exists(launches)) std::filesystem::copy(launches, out / "launches", how);
  }
  for (const auto& record : records) merged.append(record);
  return merged;
}

}  // namespace stepgauge::store
