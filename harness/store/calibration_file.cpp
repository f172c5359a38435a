#include "store/calibration_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "contract/status.hpp"
#include "store/detail/append.hpp"
#include "store/detail/name.hpp"
#include "store/fingerprint.hpp"

namespace stepgauge::store {
namespace {

constexpr std::size_t max_bytes = std::size_t{4} << 30;
constexpr double patience_s = 60;

Json launch_json(const CalibrationLaunch& launch) {
  Json out{{"launch", launch.launch},
           {"started_at", launch.started_at},
           {"duration_s", launch.duration_s},
           {"values", launch.values}};
  if (launch.steps) {
    out["steps"] = {
        {"variance", launch.steps->variance}, {"count", launch.steps->count}, {"inflation", launch.steps->inflation}};
  }
  return out;
}

Json cell_json(const CalibrationCell& cell) {
  auto launches = Json::array();
  for (const auto& launch : cell.launches) launches.push_back(launch_json(launch));
  return {{"id", cell.id},
          {"hash", cell.hash},
          {"statuses", cell.statuses},
          {"units", cell.units},
          {"launches", std::move(launches)}};
}

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw ContractError(fmt::format("{}: {}", where, what));
}

const Json& require_list(const Json& value, const char* key, const std::string& where) {
  const auto found = value.find(key);
  if (found == value.end() || !found->is_array()) refuse(where, fmt::format("\"{}\" is missing or no list", key));
  return *found;
}

std::string require_text(const Json& value, const char* key, const std::string& where) {
  auto text = require<std::string>(value, key, where);
  if (text.empty()) refuse(where, fmt::format("\"{}\" is empty", key));
  return text;
}

CalibrationSteps steps_of(const Json& value, const std::string& where) {
  const auto variance = require<double>(value, "variance", where),
             inflation = require<double>(value, "inflation", where);
  const auto count = require<std::int64_t>(value, "count", where);
  if (variance < 0 || count < 3 || inflation <= 0)
    refuse(where, "\"steps\": expected a variance of 0 or more, a count of 3 or more and an inflation above 0");
  return {variance, static_cast<std::size_t>(count), inflation};
}

std::map<std::string, std::size_t> statuses_of(const Json& value, const std::string& where) {
  std::map<std::string, std::size_t> out;
  for (const auto& [status, count] : require<std::map<std::string, std::int64_t>>(value, "statuses", where)) {
    if (!status_from_string(status) || count < 1)
      refuse(where,
             fmt::format("\"statuses\": expected launches, 1 or more, of a status, found \"{}\": {}", status, count));
    out[status] = static_cast<std::size_t>(count);
  }
  return out;
}

CalibrationLaunch launch_of(const Json& value, const CalibrationCell& cell, const std::string& where) {
  CalibrationLaunch out;
  out.launch = require<int>(value, "launch", where);
  out.started_at = require<std::string>(value, "started_at", where);
  out.duration_s = require<double>(value, "duration_s", where);
  if (out.duration_s < 0) refuse(where, "\"duration_s\" is below 0");
  out.values = require<std::map<std::string, double>>(value, "values", where);
  for (const auto& [metric, number] : out.values) {
    if (cell.units.count(metric) == 0) refuse(where, fmt::format("no unit of metric \"{}\"", metric));
  }
  if (value.contains("steps")) out.steps = steps_of(value.at("steps"), where);
  return out;
}

CalibrationCell cell_of(const Json& value, const std::string& where) {
  CalibrationCell out;
  out.id = require_text(value, "id", where);
  out.hash = require_text(value, "hash", where);
  const auto at = fmt::format("{}: cell \"{}\"", where, out.id);
  out.statuses = statuses_of(value, at);
  out.units = require<std::map<std::string, std::string>>(value, "units", at);
  for (const auto& launch : require_list(value, "launches", at)) {
    out.launches.push_back(launch_of(launch, out, at));
    if (out.launches.size() > 1 && out.launches.back().launch <= out.launches[out.launches.size() - 2].launch)
      refuse(at, fmt::format("launch {} is out of order or stands twice", out.launches.back().launch));
  }
  return out;
}

struct File {
  std::vector<CalibrationSession> sessions;  ///< in order of the lines, each session once: its last line
  std::string torn;
  std::uint64_t intact_bytes = 0;
};

void take(File& file, CalibrationSession session, const std::filesystem::path& path, const std::string& where) {
  const auto slug = fingerprint_slug(session.fingerprint);
  const auto home = path.parent_path().filename().string();
  if (slug != home || session.suite + calibration_extension != path.filename().string()) {
    refuse(where,
           fmt::format("a session of suite \"{}\" on {}; it belongs to {}", session.suite, slug,
                       (path.parent_path().parent_path() / slug / (session.suite + calibration_extension)).string()));
  }
  const auto known = std::find_if(file.sessions.begin(), file.sessions.end(),
                                  [&](const CalibrationSession& one) { return one.session == session.session; });
  if (known != file.sessions.end()) file.sessions.erase(known);
  file.sessions.push_back(std::move(session));
}

File parse(std::string_view text, const std::filesystem::path& path) {
  File out;
  std::size_t begin = 0;
  for (std::size_t line = 1; begin < text.size(); ++line) {
    const auto end = text.find('\n', begin);
    if (end == std::string_view::npos) {
      out.torn = std::string(text.substr(begin));
      break;
    }
    const auto where = fmt::format("{}:{}", path.string(), line);
    CalibrationSession session;
    try {
      session = calibration_session_from_json(parse_json(text.substr(begin, end - begin), where), where);
    } catch (const ContractError& error) {
      throw ContractError(
          fmt::format("{}; put the line back (git log -p -- {}) or take it out: every line stands on its own",
                      error.what(), path.string()));
    }
    take(out, std::move(session), path, where);
    begin = end + 1;
  }
  out.intact_bytes = begin;
  return out;
}

File read_file(const std::filesystem::path& path) {
  return parse(read_text_file(path.string(), max_bytes), path);
}

Json without_the_time_of_adding(const CalibrationSession& session) {
  auto out = to_json(session);
  out.erase("added_at");
  return out;
}

}  // namespace

std::filesystem::path calibration_path(const Json& fingerprint, const std::string& suite,
                                       const std::filesystem::path& root) {
  if (suite.empty() || detail::file_name(suite, 200) != suite)
    throw std::invalid_argument(fmt::format("suite name \"{}\" is no file name", suite));
  return root / fingerprint_slug(fingerprint) / (suite + calibration_extension);
}

Json to_json(const CalibrationSession& session) {
  auto cells = Json::array();
  for (const auto& cell : session.cells) cells.push_back(cell_json(cell));
  return {{"schema", "stepgauge.calibration"},  {"version", calibration_line_version},
          {"session", session.session},         {"suite", session.suite},
          {"measured_at", session.measured_at}, {"added_at", session.added_at},
          {"commit", session.commit},           {"source", session.source},
          {"command", session.command},         {"fingerprint", session.fingerprint},
          {"cells", std::move(cells)}};
}

CalibrationSession calibration_session_from_json(const Json& value, const std::string& where) {
  if (require<std::string>(value, "schema", where) != "stepgauge.calibration")
    refuse(where, "not a line of a calibration");
  if (const auto version = require<int>(value, "version", where); version > calibration_line_version) {
    refuse(where,
           fmt::format("calibration version {}, this program reads up to {}: a newer stepgauge wrote it, read it "
                       "with that one",
                       version, calibration_line_version));
  }
  CalibrationSession out;
  out.session = require_text(value, "session", where);
  out.suite = require_text(value, "suite", where);
  out.measured_at = require_text(value, "measured_at", where);
  out.added_at = require<std::string>(value, "added_at", where);
  out.commit = require<std::string>(value, "commit", where);
  out.source = require<std::string>(value, "source", where);
  out.command = require<std::vector<std::string>>(value, "command", where);
  out.fingerprint = read_fingerprint(value, where);
  for (const auto& cell : require_list(value, "cells", where)) {
    out.cells.push_back(cell_of(cell, where));
    const auto& id = out.cells.back().id;
    if (std::any_of(out.cells.begin(), out.cells.end() - 1, [&](const CalibrationCell& one) { return one.id == id; }))
      refuse(where, fmt::format("cell \"{}\" stands twice", id));
  }
  return out;
}

std::vector<CalibrationSession> read_calibrations(const std::filesystem::path& path) {
  auto out = read_file(path).sessions;
  std::stable_sort(out.begin(), out.end(), [](const CalibrationSession& a, const CalibrationSession& b) {
    return a.measured_at < b.measured_at;
  });
  return out;
}

std::vector<CalibrationSession> find_calibrations(const Json& fingerprint, const std::string& suite,
                                                  const std::filesystem::path& root) {
  const auto path = calibration_path(fingerprint, suite, root);
  if (!std::filesystem::is_regular_file(path)) return {};
  return read_calibrations(path);
}

std::vector<std::string> calibrated_machines(const std::string& suite, const std::filesystem::path& root) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator(root, error)) {
    if (std::filesystem::is_regular_file(folder.path() / (suite + calibration_extension), error))
      out.push_back(folder.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool append_calibration(const std::filesystem::path& path, const CalibrationSession& session) {
  const auto line = dump_line(to_json(session));
  calibration_session_from_json(parse_json(line, path.string()), path.string());  // never a line that cannot be read
  const auto file = detail::open_locked(path, patience_s, "the calibration");
  if (!file) {
    throw std::system_error(
        std::make_error_code(std::errc::device_or_resource_busy),
        fmt::format("{}: another process has been writing for {} s; nothing was added", path.string(), patience_s));
  }
  const auto before = read_file(path);
  for (const auto& one : before.sessions) {
    if (one.session == session.session && without_the_time_of_adding(one) == without_the_time_of_adding(session))
      return false;
  }
  if (!before.torn.empty()) detail::cut_torn(*file, path, before.intact_bytes, before.torn);
  detail::append_durably(*file, path, line + "\n");
  return true;
}

}  // namespace stepgauge::store
