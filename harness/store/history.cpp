#include "store/history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contract/suggest.hpp"
#include "machine/captured_command.hpp"
#include "store/baseline.hpp"

namespace stepgauge::store {
namespace {

void require_whole_and_unperturbed(const RunFolder& run) {
  const auto name = run.path().string();
  if (run.info().fingerprint.empty()) {
    throw HistoryRefused(fmt::format("{}: no night without machine data (fingerprint)", name));
  }
  if (!run.info().shard.is_null()) {
    throw HistoryRefused(fmt::format("{}: a part of a suite (--shard); put the parts together with `merge`", name));
  }
  for (const auto& record : run.records()) {
    if (!record.perturbed) continue;
    throw HistoryRefused(
        fmt::format("{}: cell \"{}\" is perturbed on purpose and cannot be a night", name, record.cell_id));
  }
}

std::size_t count_series(const HistoryRun& run) {
  std::size_t out = 0;
  for (const auto& cell : run.cells) out += cell.metrics.size();
  return out;
}

HistoryRun reference_of(const RunFolder& tip, const NightOptions& options) {
  const auto run = RunFolder::open(*options.reference);
  require_whole_and_unperturbed(run);
  if (run.info().fingerprint != tip.info().fingerprint || run.info().suite != tip.info().suite) {
    throw HistoryRefused(fmt::format("{}: the reference must be of the same suite and machine as {}",
                                     run.path().string(), tip.path().string()));
  }
  auto out = history_run(run, options.reference_commit);
  if (out.run == run_id(tip.info())) {
    throw HistoryRefused(fmt::format("{}: the reference is the run itself", run.path().string()));
  }
  return out;
}

}  // namespace

AddedNight add_night(const std::filesystem::path& root, const std::filesystem::path& path,
                     const NightOptions& options) {
  const auto run = RunFolder::open(path);
  require_whole_and_unperturbed(run);
  Night night;
  night.suite = run.info().suite;
  night.added_at = options.added_at;
  night.fingerprint = run.info().fingerprint;
  night.tip = history_run(run, options.commit);
  AddedNight out{baseline_path(run.results(), root), night.tip.run, count_series(night.tip)};
  if (out.series == 0) throw HistoryRefused(fmt::format("{}: no launch is ok, there is nothing to add", path.string()));
  if (options.reference) night.reference = reference_of(run, options);
  append_history(out.path, night, {.late = options.late});
  return out;
}

std::vector<History> read_histories(const std::filesystem::path& root) {
  std::vector<History> out;
  for (const auto& file : list(root)) out.push_back(read_history(file.path));
  const auto has_nights = [](const History& history) { return !history.nights.empty(); };
  if (std::none_of(out.begin(), out.end(), has_nights)) {
    throw HistoryMissing(fmt::format("no history under {}; `history add RUN` makes one", root.string()));
  }
  return out;
}

const History& history_with(const std::vector<History>& histories, const std::string& run) {
  std::vector<std::string> known;
  for (const auto& history : histories) {
    if (history.lines.count(run) != 0) return history;
    for (const auto& night : history.nights) known.push_back(night.tip.run);
  }
  std::reverse(known.begin(), known.end());
  throw HistoryConflict(fmt::format("no night \"{}\"{}", run, suggestion(run, known)));
}

std::string current_commit() {
  const auto said =
      machine::run_captured({"git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"}, 4096);
  return said.exit_code == 0 ? said.out.substr(0, said.out.find('\n')) : "";
}

}  // namespace stepgauge::store
