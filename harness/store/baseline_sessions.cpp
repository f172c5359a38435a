#include "store/baseline_sessions.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <ctime>

#include "store/detail/name.hpp"
#include "store/fingerprint.hpp"
#include "store/run_folder.hpp"

namespace stepgauge::store {
namespace {

/// Other launches of the same cell, counted on from those that are there.
void add_launches(CellResults& to, const CellResults& from) {
  int next = 0;
  for (const auto& launch : to.launches) next = std::max(next, launch.launch + 1);
  for (auto launch : from.launches) {
    launch.launch += next;
    to.launches.push_back(std::move(launch));
  }
}

void add_part(ResultSet& out, const ResultSet& part) {
  if (part.suite != out.suite || part.fingerprint != out.fingerprint) {
    throw RunConflict(fmt::format("{} is of suite {} on {}, {} of suite {} on {}: they cannot be one baseline",
                                  out.name, out.suite, fingerprint_slug(out.fingerprint), part.name, part.suite,
                                  fingerprint_slug(part.fingerprint)));
  }
  for (const auto& session : part.sessions) {
    const auto known = std::find_if(out.sessions.begin(), out.sessions.end(),
                                    [&](const MeasuredSession& one) { return one.id == session.id; });
    if (known != out.sessions.end()) {
      throw RunConflict(
          fmt::format("session {} of {} is in {} already: one session counts once", session.id, part.name, out.name));
    }
    out.sessions.push_back(session);
  }
  for (const auto& cell : part.cells) {
    const auto known = std::find_if(out.cells.begin(), out.cells.end(),
                                    [&](const CellResults& one) { return one.cell.id == cell.cell.id; });
    if (known == out.cells.end()) {
      out.cells.push_back(cell);
    } else {
      add_launches(*known, cell);
    }
  }
}

}  // namespace

MeasuredSession only_session(const std::string& measured_at, const std::string& source) {
  return {fmt::format("{}-{}", measured_at, detail::short_hash(measured_at + source)), measured_at, source, ""};
}

ResultSet as_session(ResultSet run, const MeasuredSession& session) {
  const auto own = session.id.empty() ? only_session(run.created_at, run.name) : session;
  for (auto& cell : run.cells) {
    for (auto& launch : cell.launches) launch.detail["session"] = own.id;
  }
  run.sessions = {own};
  return run;
}

ResultSet join_sessions(const std::vector<ResultSet>& parts) {
  auto out = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) add_part(out, parts[i]);
  std::stable_sort(out.sessions.begin(), out.sessions.end(),
                   [](const MeasuredSession& a, const MeasuredSession& b) { return a.measured_at < b.measured_at; });
  out.created_at = out.sessions.back().measured_at;
  return out;
}

std::string days_later(const std::string& utc, int days) {
  std::tm parts{};
  const char* end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || (*end != 'Z' && *end != '.')) return "";
  parts.tm_mday += days;
  const auto time = ::timegm(&parts);
  ::gmtime_r(&time, &parts);
  char buffer[32];
  return {buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace stepgauge::store
