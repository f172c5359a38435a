#include "store/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "contract/digest.hpp"
#include "store/baseline_sessions.hpp"
#include "store/calibration_file.hpp"
#include "store/detail/file.hpp"
#include "store/detail/name.hpp"
#include "store/fingerprint.hpp"
#include "store/journal.hpp"
#include "store/output_folder.hpp"
#include "store/run_info.hpp"

namespace stepgauge::store {
namespace {

constexpr const char* extension = ".jsonl";
constexpr std::size_t max_baseline_bytes = std::size_t{4} << 30;

Json header_json(const ResultSet& results, const SaveOptions& options) {
  std::vector<Cell> cells;
  for (const auto& cell : results.cells) cells.push_back(cell.cell);
  return {
      {"schema", "stepgauge.baseline"},     {"version", baseline_version},  {"suite", results.suite},
      {"created_at", results.created_at},   {"saved_at", options.saved_at}, {"fingerprint", results.fingerprint},
      {"environment", results.environment}, {"source", results.name},       {"command", options.command},
      {"reason", options.accept_reason},    {"cells", cells_json(cells)},   {"skipped", skipped_json(results.skipped)}};
}

Json sessions_json(const std::vector<MeasuredSession>& sessions) {
  auto out = Json::array();
  for (const auto& item : sessions) {
    out.push_back(
        {{"id", item.id}, {"measured_at", item.measured_at}, {"source", item.source}, {"commit", item.commit}});
  }
  return out;
}

std::vector<MeasuredSession> sessions_from_json(const Json& value, const std::string& where) {
  std::vector<MeasuredSession> out;
  const auto at = where + ": sessions";
  for (const auto& item : value) {
    out.push_back({require<std::string>(item, "id", at), require<std::string>(item, "measured_at", at),
                   require<std::string>(item, "source", at), require<std::string>(item, "commit", at)});
  }
  return out;
}

/// Of the header, which has no digest yet, and of the lines after it.
std::string digest_of(const Json& header, std::string_view records) {
  return sha256_hex((dump_line(header) + "\n").append(records));
}

/// Checked last: what is wrong with a line is said of that line.
void require_digest(Json header, std::string_view records, const std::string& where) {
  const auto digest = optional<std::string>(header, "digest", "", where);
  if (digest.empty()) return;  // of an older program
  header.erase("digest");
  if (digest == digest_of(header, records)) return;
  throw ContractError(fmt::format(
      "{}: the digest does not fit: the file was changed after it was saved, by hand or by a merge of lines. Put it "
      "back (git checkout -- FILE), or measure again and save that (`stepgauge baseline save RUN --accept REASON`)",
      where));
}

void require_once(const std::vector<LaunchRecord>& records, const std::string& origin) {
  std::set<std::pair<std::string_view, int>> seen;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (seen.emplace(records[i].cell_id, records[i].launch).second) continue;
    throw ContractError(fmt::format("{}:{}: launch {} of cell \"{}\" stands twice; take one of the two lines out",
                                    origin, i + 2, records[i].launch, records[i].cell_id));
  }
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
    throw ContractError(fmt::format(
        "{}: baseline version {}, this program reads up to {}: a newer stepgauge wrote it, read it with that "
        "one, or measure again and save that",
        where, version, baseline_version));
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
  out.replaced = optional<Json>(value, "replaced", nullptr, where);
  out.results.sessions = sessions_from_json(optional<Json>(value, "sessions", Json::array(), where), where);
  if (out.results.sessions.empty()) out.results.sessions.push_back(only_session(out.results.created_at, out.source));
  out.results.expires_at = optional<std::string>(value, "expires_at", "", where);
  if (out.results.expires_at.empty()) out.results.expires_at = days_later(out.results.created_at, baseline_days);
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

std::filesystem::path save(const ResultSet& given, const std::filesystem::path& root, const SaveOptions& options) {
  require_reference(given);
  const auto results = given.sessions.empty() ? as_session(given, options.session) : given;
  const auto path = baseline_path(results, root);
  if (options.accept_reason.empty() && std::filesystem::exists(path)) {
    throw BaselineExists(fmt::format("{}: there is a baseline already; --accept \"reason\" replaces it", path.string()),
                         path);
  }
  std::string text;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      text += dump_line(to_json(launch.status == Status::ok ? launch : without_numbers(launch))) + "\n";
    }
  }
  make_output_folder(path.parent_path());
  auto header = header_json(results, options);
  header["sessions"] = sessions_json(results.sessions);
  header["expires_at"] = days_later(results.created_at, baseline_days);
  if (!options.replaced.is_null()) header["replaced"] = options.replaced;
  header["digest"] = digest_of(header, text);
  write_output_file(path, dump_line(header) + "\n" + text);
  detail::sync_folder(path.parent_path());
  return path;
}

Baseline parse_baseline(std::string_view text, const std::string& origin) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) throw ContractError(origin + ":1: no header line of a baseline");
  Baseline out;
  std::vector<Cell> cells;
  const auto where = origin + ":1";
  const auto header = parse_json(text.substr(0, end), where);
  read_header(out, cells, header, where);
  auto scan = scan_records(text.substr(end + 1), origin, 2);
  if (!scan.torn.empty()) {
    throw ContractError(fmt::format("{}:{}: the last line is cut off", origin, scan.records.size() + 2));
  }
  require_once(scan.records, origin);
  out.results.cells = join(cells, scan.records, origin);
  require_digest(header, text.substr(end + 1), where);
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
