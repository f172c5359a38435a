#include "store/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "store/calibration_file.hpp"
#include "store/detail/file.hpp"
#include "store/detail/name.hpp"
#include "store/fingerprint.hpp"
#include "store/journal.hpp"
#include "store/run_info.hpp"

namespace stepgauge::store {
namespace {

constexpr const char* extension = ".jsonl";
constexpr std::size_t max_baseline_bytes = std::size_t{4} << 30;

void require_reference(const ResultSet& results) {
  if (!results.fingerprint.is_object() || results.fingerprint.empty()) {
    throw BaselineRefused(fmt::format("{}: no baseline without machine data (fingerprint)", results.name));
  }
  std::size_t ok = 0;
  for (const auto& cell : results.cells) {
    const auto planted = [](const LaunchRecord& record) { return record.perturbed; };
    if (is_perturbed(cell.cell) || std::any_of(cell.launches.begin(), cell.launches.end(), planted)) {
      throw BaselineRefused(
          fmt::format("{}: cell \"{}\" is perturbed on purpose and cannot be a reference", results.name, cell.cell.id));
    }
    for (const auto& launch : cell.launches) ok += launch.status == Status::ok && !launch.metrics.empty();
  }
  if (ok == 0) {
    throw BaselineRefused(fmt::format("{}: no launch is ok, there is nothing to save", results.name));
  }
}

Json header_json(const ResultSet& results, const SaveOptions& options) {
  std::vector<Cell> cells;
  for (const auto& cell : results.cells) cells.push_back(cell.cell);
  return {
      {"schema", "stepgauge.baseline"},     {"version", baseline_version},  {"suite", results.suite},
      {"created_at", results.created_at},   {"saved_at", options.saved_at}, {"fingerprint", results.fingerprint},
      {"environment", results.environment}, {"source", results.name},       {"command", options.command},
      {"reason", options.accept_reason},    {"cells", cells_json(cells)},   {"skipped", skipped_json(results.skipped)}};
}

LaunchRecord without_numbers(LaunchRecord record) {
  for (auto& [name, metric] : record.metrics) {
    metric = {std::nullopt, metric.unit, fmt::format("the launch is {}", to_string(record.status))};
  }
  return record;
}

void read_header(Baseline& out, std::vector<Cell>& cells, const Json& value, const std::string& where) {
  if (require<std::string>(value, "schema", where) != "stepgauge.baseline") {
    throw ContractError(where + ": not the header of a baseline");
  }
  if (const auto version = require<int>(value, "version", where); version > baseline_version) {
    throw ContractError(
        fmt::format("{}: baseline version {}, this program reads up to {}", where, version, baseline_version));
  }
  out.results.suite = require<std::string>(value, "suite", where);
  out.results.created_at = require<std::string>(value, "created_at", where);
  out.results.fingerprint = read_fingerprint(value, where);
  out.results.environment = require<Json>(value, "environment", where);
  out.results.name = fmt::format("baseline {} ({})", out.results.suite, out.results.created_at.substr(0, 10));
  out.results.skipped = skipped_from_json(optional<Json>(value, "skipped", Json::array(), where), where);
  out.source = optional<std::string>(value, "source", "", where);
  out.command = optional<std::vector<std::string>>(value, "command", {}, where);
  out.saved_at = optional<std::string>(value, "saved_at", "", where);
  out.reason = optional<std::string>(value, "reason", "", where);
  cells = cells_from_json(require<Json>(value, "cells", where), where);
}

}  // namespace

std::filesystem::path baseline_path(const ResultSet& results, const std::filesystem::path& root) {
  const bool a_calibration = (results.suite + extension).ends_with(calibration_extension);
  if (results.suite.empty() || detail::file_name(results.suite, 200) != results.suite || a_calibration) {
    throw std::invalid_argument(fmt::format("suite name \"{}\" is no file name", results.suite));
  }
  return root / fingerprint_slug(results.fingerprint) / (results.suite + extension);
}

std::filesystem::path save(const ResultSet& results, const std::filesystem::path& root, const SaveOptions& options) {
  require_reference(results);
  const auto path = baseline_path(results, root);
  if (options.accept_reason.empty() && std::filesystem::exists(path)) {
    throw BaselineExists(fmt::format("{}: there is a baseline already; --accept \"reason\" replaces it", path.string()),
                         path);
  }
  auto text = dump_line(header_json(results, options)) + "\n";
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      text += dump_line(to_json(launch.status == Status::ok ? launch : without_numbers(launch))) + "\n";
    }
  }
  detail::make_folders(path.parent_path());
  write_text_file(path, text);
  detail::sync_folder(path.parent_path());
  return path;
}

Baseline parse_baseline(std::string_view text, const std::string& origin) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) throw ContractError(origin + ":1: no header line of a baseline");
  Baseline out;
  std::vector<Cell> cells;
  const auto where = origin + ":1";
  read_header(out, cells, parse_json(text.substr(0, end), where), where);
  auto scan = scan_records(text.substr(end + 1), origin, 2);
  if (!scan.torn.empty()) {
    throw ContractError(fmt::format("{}:{}: the last line is cut off", origin, scan.records.size() + 2));
  }
  out.results.cells = join(cells, scan.records, origin);
  return out;
}

Baseline load(const std::filesystem::path& path) {
  return parse_baseline(read_text_file(path, max_baseline_bytes), path.string());
}

std::vector<BaselineFile> list(const std::filesystem::path& root) {
  std::vector<BaselineFile> out;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator(root, error)) {
    if (!folder.is_directory()) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      if (file.path().extension() != extension || !file.is_regular_file()) continue;
      if (file.path().filename().string().ends_with(calibration_extension)) continue;
      out.push_back({folder.path().filename().string(), file.path().stem().string(), file.path()});
    }
  }
  std::sort(out.begin(), out.end(), [](const BaselineFile& a, const BaselineFile& b) {
    return std::tie(a.slug, a.suite) < std::tie(b.slug, b.suite);
  });
  return out;
}

std::optional<std::filesystem::path> find(const std::filesystem::path& root, const std::string& slug,
                                          const std::string& suite) {
  const auto path = root / detail::file_name(slug, 200) / (detail::file_name(suite, 200) + extension);
  if (std::filesystem::is_regular_file(path)) return path;
  return std::nullopt;
}

}  // namespace stepgauge::store
