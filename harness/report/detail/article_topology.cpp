// Topology (A3) and collective logs (A9): claims and what was measured or kept.
#include <fmt/format.h>

#include <algorithm>

#include "contract/loose_json.hpp"
#include "report/detail/article_sheets.hpp"
#include "report/detail/cell_groups.hpp"
#include "report/detail/cell_summary.hpp"
#include "report/detail/communication.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/mode_sheets.hpp"
#include "report/detail/number.hpp"

namespace stepgauge::report::detail {
namespace {

/// gloo and MPI tell nothing but their name.
std::string used_transports(const CellResults& cell) {
  const auto known = transports_text(cell);
  if (!known.empty()) return known;
  return cell.cell.ddp.backend == "nccl" ? "not known" : printable(cell.cell.ddp.backend);
}

/// The first value of "ring (312 all-reduces ...), tree (...)", with a mark where there are more.
std::string first_value(const std::string& used) {
  if (used.empty()) return "-";
  const auto end = used.find(" (");
  return used.substr(0, end) + (used.find("), ") == std::string::npos ? "" : " ..");
}

std::string latency_text(const CellResults& cell) {
  const auto us = communication_number(cell, {"latency_us"});
  return four_digits(us);
}

SheetRow topology_row(const GroupedCell& one) {
  const auto& cell = *one.results;
  const bool alarmed = topology_check(cell).is_object();
  const auto status = printable(summarise(cell).status);
  return {
      {one.name, used_transports(cell),
       fmt::format("{}/{}", first_value(used_setting(cell, "algorithm")), first_value(used_setting(cell, "protocol"))),
       four_digits(middle(cell, "stall_ratio")), four_digits(middle(cell, "exposed_comm")),
       four_digits(middle(cell, "step_time")), four_digits(sweep_number(cell, 64 * mib, "busbw_gbps")),
       four_digits(sweep_number(cell, 1024 * mib, "busbw_gbps")), latency_text(cell),
       alarmed ? status + ", alarm" : status},
      alarmed ? Color::yellow : Color::none};
}

Sheet topologies_sheet(const ResultSet& results) {
  Sheet out{"Measured: each topology (bus bandwidth of all-reduces in GB/s, latency of 8 B in us)",
            {{"asked", true},
             {"used", true},
             {"algo", true},
             {"stall %"},
             {"exp.comm"},
             {"step ms"},
             {"64 MiB"},
             {"1 GiB"},
             {"lat."},
             {"status", true}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::topology)) {
    SheetGroup shown{group.title, {}};
    for (const auto& one : group.cells) {
      if (one.results->cell.ddp.ranks > 1) shown.rows.push_back(topology_row(one));
    }
    if (!shown.rows.empty()) out.groups.push_back(std::move(shown));
  }
  return out;
}

/// Time of an all-reduce of that size through the process group, us; that of 8 bytes stands apart.
std::optional<double> group_time_us(const CellResults& cell, double bytes) {
  return bytes == 8 ? communication_number(cell, {"latency_us"}) : sweep_number(cell, bytes, "time_us");
}

/// Empty where no cell called the library.
Sheet bare_sheet(const ResultSet& results) {
  Sheet out{"All-reduces through the process group and by NCCL alone, on the same communicator (us)",
            {{"asked", true}, {"bytes"}, {"process group"}, {"NCCL"}, {"bandwidth, group / NCCL"}},
            {},
            {}};
  for (const auto& group : group_cells(results, Axis::topology)) {
    SheetGroup shown{group.title, {}};
    for (const auto& one : group.cells) {
      for (const auto& point : loose::list(last_part(*one.results, "communication"), "sweep_bare")) {
        const auto bytes = loose::number(point, "bytes"), bare = loose::number(point, "time_us");
        const auto grouped = bytes ? group_time_us(*one.results, *bytes) : std::nullopt;
        if (!bare || !grouped) continue;
        shown.rows.push_back({{one.name, fmt::format("{:.0f}", *bytes), four_digits(grouped), four_digits(bare),
                               four_digits(*bare / *grouped)}});
      }
    }
    if (!shown.rows.empty()) out.groups.push_back(std::move(shown));
  }
  return out;
}

std::vector<std::string> alarm_notes(const ResultSet& results) {
  std::vector<std::string> out;
  for (const auto& cell : results.cells) {
    const auto findings = texts_of(topology_check(cell), "findings");
    for (std::size_t i = 0; i < findings.size(); ++i)
      out.push_back(i == 0 ? fmt::format("Alarm, {}: {}", axis_value(cell.cell, Axis::topology), findings[i])
                           : findings[i]);
    const auto& nccl = last_part(cell, "nccl");
    const auto start = nccl.is_object() ? nccl.value("start", Json()) : Json();
    if (start.is_string())
      out.push_back(fmt::format("{}: {}", axis_value(cell.cell, Axis::topology), printable(start.get<std::string>())));
  }
  for (const auto& cell : results.skipped) {
    if (cell.status == Status::unsupported)
      out.push_back(fmt::format("Not launched, {}: {}", printable(cell.id), printable(cell.reason)));
  }
  return out;
}

/// Ranks' logs of collectives that a launch left.
std::size_t logs_of(const LaunchRecord& launch) {
  const auto evidence = launch.detail.find("evidence");
  if (evidence == launch.detail.end() || !evidence->is_object()) return 0;
  const auto logs = evidence->find("collective_logs");
  return logs != evidence->end() && logs->is_array() ? logs->size() : 0;
}

std::string folder_of(const LaunchRecord& launch) {
  const auto evidence = launch.detail.find("evidence");
  if (evidence == launch.detail.end() || !evidence->is_object()) return "";
  const auto folder = evidence->value("folder", Json());
  return folder.is_string() ? printable(folder.get<std::string>()) : "";
}

}  // namespace

std::vector<Sheet> topology_sheets(const ResultSet& results) {
  const Sheet claims{"What the article claims",
                     {{"InfiniBand and P2P", true}, {"stall ratio"}, {"", true}},
                     {{"",
                       {{{"IB on, P2P on", "8.2 %", ""}},
                        {{"IB off, P2P on", "41.7 %", "ring broken at a cross-NUMA hop"}},
                        {{"alarm", "> 35 %", "a topology check is started"}}}}},
                     {}};
  auto measured = topologies_sheet(results);
  measured.notes = alarm_notes(results);
  measured.notes.push_back(
      "stall: share of the window without a compute kernel (docs/metrics.md). The article adds durations up, which "
      "goes "
      "negative where streams overlap; stall_article of the records has it. used and algo: as NCCL's log says.");
  measured.notes.push_back(measured_on(results, "hardware and model that it does not name"));
  auto bare = bare_sheet(results);
  if (bare.groups.empty()) return {claims, measured};
  return {claims, measured, bare};
}

std::vector<Sheet> log_sheets(const ResultSet& results) {
  const Sheet claims{
      "What the article reads from a collective log, and where it is found here",
      {{"pattern", true}, {"the article", true}, {"found by", true}},
      {{"",
        {{{"a rank's log ends, the others wait", "a silent rank = stuck", "replay: silent; run: reason of hung"}},
         {{"ranks enter far apart", "barrier skew > 100 ms = network", "replay: skew; run: rank_skew"}},
         {{"tensors grow from step to step", "sudden growth = accumulation bug", "replay: growth"}},
         {{"one rank skips or sends another length", "-", "replay: skipped, mismatch; run: reason"}},
         {{"one rank is always last", "-", "replay: slow; run: stall alarm"}}}}},
      {}};
  Sheet kept{"Logs that this run kept",
             {{"launch", true}, {"logs"}, {"status", true}, {"what the run itself saw", true}},
             {},
             {}};
  SheetGroup rows;
  for (const auto& cell : results.cells) {
    for (const auto& launch : cell.launches) {
      if (logs_of(launch) > 0)
        rows.rows.push_back({{folder_of(launch), std::to_string(logs_of(launch)), std::string(to_string(launch.status)),
                              launch.reason.empty() ? "-" : printable(launch.reason)}});
    }
  }
  const bool none = rows.rows.empty();
  if (none) rows.rows.push_back({{"none", "0", "-", "measure: {collective_log: true} makes every rank keep one"}});
  kept.groups.push_back(std::move(rows));
  kept.notes.push_back(none ? "Without logs there is nothing to replay."
                            : "stepgauge replay RUN/LAUNCH reads them, aligns the ranks and names pattern, rank and "
                              "collective; it reads PyTorch's and NCCL's own logs too.");
  return {claims, kept};
}

}  // namespace stepgauge::report::detail
