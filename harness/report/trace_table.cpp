#include "report/trace_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "contract/plural.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"
#include "trace/labels.hpp"

namespace stepgauge::report {
namespace {

using detail::Color;
using detail::four_digits;
using detail::paragraph;
using detail::printable;
using detail::signed_digits;
using trace::ActivityKind;

constexpr std::size_t host_columns = 34;  ///< for what the host was doing
constexpr std::size_t phase_columns = 12;

std::string shortened(const std::string& text, std::size_t width) {
  return detail::shorten_middle(printable(text), width, 9);
}

std::string name_of(ActivityKind kind, const std::string& name) {
  return printable(trace::short_name(kind, name));
}

std::string ms_of(std::int64_t ns) {
  return four_digits(static_cast<double>(ns) / 1e6);
}

/// Numbers of launches are whole in most traces.
std::string count_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e9 ? fmt::format("{:.0f}", value) : four_digits(value);
}

/// Rows of no number where the numbers are withheld.
std::vector<std::string> rank_texts(const trace::RankView& rank) {
  std::vector<std::string> out{fmt::format("rank {}", rank.rank), std::to_string(rank.steps)};
  if (!rank.doubtful.empty()) {
    out.resize(10, "-");
    return out;
  }
  const auto& total = rank.total;
  out.push_back(four_digits(static_cast<double>(total.window) / 1e6 / static_cast<double>(rank.steps)));
  out.push_back(detail::percent(1 - total.stall_ratio()));
  out.push_back(detail::percent(total.exposed_comm_ratio()));
  out.push_back(detail::percent(total.exposed_copy_ratio()));
  out.push_back(detail::percent(total.idle_ratio()));
  out.push_back(total.overlap_ratio() ? detail::percent(total.overlap_ratio()) : "n/a");
  const auto steps = static_cast<double>(rank.steps);
  out.push_back(count_text(static_cast<double>(total.kernels) / steps));
  out.push_back(count_text(static_cast<double>(total.launches) / steps));
  return out;
}

std::string breakdown_table(const trace::TraceView& view, const Style& style) {
  const bool host = view.ranks.front().host_time;
  detail::Table table({{"", true},
                       {"steps"},
                       {"step ms"},
                       {"compute %"},
                       {"comm %"},
                       {"copy %"},
                       {"idle %"},
                       {"overlap %"},
                       {host ? "operators" : "kernels"},
                       {"launches"}});
  for (const auto& rank : view.ranks) table.add(rank_texts(rank));
  return table.text(style) +
         paragraph(
             "comm and copy: what neither compute nor each other hides; with compute and idle they make the step. "
             "stall ratio = 100 - compute. overlap: of communication, beside compute.",
             style, 0);
}

std::string work_table(const trace::RankView& rank, const Style& style) {
  detail::Table table({{rank.host_time ? "operator, own time" : "kernel or copy", true},
                       {"class", true},
                       {"phase", true},
                       {"/step"},
                       {"ms/step"},
                       {"%"}});
  for (const auto& row : rank.work) {
    table.add({name_of(row.kind, row.name), std::string(to_string(row.type)), shortened(row.phase, phase_columns),
               count_text(row.per_step), four_digits(row.ms_per_step), detail::percent(row.share)});
  }
  auto out = table.text(style);
  if (rank.other_work > 0) out += fmt::format("and {} more (--top)\n", rank.other_work);
  return out;
}

std::string idle_table(const trace::RankView& rank, const Style& style) {
  detail::Table table({{"idle before", true}, {"/step"}, {"ms/step"}, {"longest"}, {"host meanwhile", true}});
  for (const auto& row : rank.idle) {
    table.add({row.next.empty() ? "(end of the traced steps)" : name_of(row.next_kind, row.next),
               count_text(row.per_step), four_digits(row.ms_per_step), four_digits(row.longest_ms),
               shortened(row.host, host_columns)});
  }
  return table.text(style);
}

std::string detail_of(const trace::TraceView& view, const Style& style) {
  const auto& rank = view.ranks.front();
  if (!rank.doubtful.empty()) return "";
  std::string out = "\n";
  if (view.ranks.size() > 1) out += fmt::format("rank {} in detail (--rank shows another one):\n", rank.rank);
  out += work_table(rank, style);
  if (!rank.idle.empty()) out += "\n" + idle_table(rank, style);
  return out;
}

std::string slowest_text(const trace::SlowestCollective& slowest, const Style& style) {
  const auto& one = slowest.collective;
  auto text = fmt::format("slowest collective: {} number {}{}, {} MiB: ", printable(one.kind), one.sequence,
                          one.bucket >= 0 ? fmt::format(" (bucket {})", one.bucket) : "",
                          four_digits(static_cast<double>(one.bytes) / (1 << 20)));
  if (slowest.compared) {
    text += fmt::format("{} ms where it took longest, {} ms on rank {}, which came last, {} ms behind the first",
                        ms_of(one.longest), ms_of(one.shortest), one.last_rank, ms_of(one.entry_skew));
  } else {
    text += fmt::format("{} ms on rank {}", ms_of(one.longest), slowest.rank);
  }
  return "\n" + paragraph(text, style);
}

std::string withheld_text(const trace::TraceView& view, const Style& style) {
  std::string out;
  for (const auto& rank : view.ranks) {
    for (const auto& reason : rank.doubtful) {
      out += paragraph(fmt::format("  rank {}: {}", rank.rank, printable(reason)), style, 4);
    }
  }
  if (out.empty()) return "";
  return "\n" + detail::colored("Withheld, because the trace cannot be trusted:", Color::red, style) + "\n" + out;
}

/// What of the files was not read, over all ranks.
std::string ignored_text(const trace::TraceView& view, const Style& style) {
  std::map<std::string, std::int64_t> all;
  for (const auto& rank : view.ranks) {
    for (const auto& [category, count] : rank.ignored) all[category] += count;
  }
  if (all.empty()) return "";
  std::vector<std::string> parts;
  parts.reserve(all.size());
  for (const auto& [category, count] : all) parts.push_back(fmt::format("{} {}", count, printable(category)));
  return paragraph(fmt::format("not read of the file: {}", fmt::join(parts, ", ")), style);
}

std::string heading(const trace::TraceView& view) {
  const auto& first = view.ranks.front();
  auto out = fmt::format("{}: {}, {}", printable(view.source), plural(view.ranks.size(), "rank"),
                         first.host_time             ? "operators on the CPU"
                         : first.device_name.empty() ? "work on a device"
                                                     : printable(first.device_name));
  if (first.foreign) out += ", written by another tool";
  if (!view.alignment) return out;
  const auto worst = std::max_element(view.alignment->error.begin(), view.alignment->error.end());
  return out + fmt::format(", clocks aligned by {} collectives (+-{} us)", view.alignment->collectives,
                           four_digits(static_cast<double>(*worst) / 1e3));
}

std::string change_text(const trace::DiffRow& row) {
  switch (row.change) {
    case trace::Change::count:
      return "number";
    case trace::Change::idle:
      return row.cost_ms() > 0 ? "larger" : "smaller";
    default:
      return std::string(to_string(row.change));
  }
}

void add_change(detail::Table& table, const trace::DiffRow& row) {
  const bool idle = row.change == trace::Change::idle;
  const auto color = row.cost_ms() > 0 ? Color::red : Color::green;
  table.add(
      {idle ? "idle" : name_of(row.kind, row.name), change_text(row), idle ? "" : count_text(row.count_a),
       idle ? "" : count_text(row.count_b), four_digits(row.ms_a), four_digits(row.ms_b), signed_digits(row.cost_ms())},
      color);
  if (!idle) return;
  table.add_line(
      fmt::format("    {} ms of it before {}", signed_digits(row.before_ms),
                  row.before.empty() ? "the end of the traced steps" : name_of(row.before_kind, row.before)));
  table.add_line("    host there: " + printable(row.host));
}

std::string changes_table(const trace::TraceDiff& diff, std::size_t top, const Style& style) {
  if (diff.rows.empty()) return "\nnothing changed\n";
  detail::Table table({{"what changed, per step", true}, {"how", true}, {"A"}, {"B"}, {"A ms"}, {"B ms"}, {"cost ms"}});
  for (std::size_t i = 0; i < std::min(top, diff.rows.size()); ++i) add_change(table, diff.rows[i]);
  auto out = "\n" + table.text(style);
  if (diff.rows.size() > top) out += fmt::format("and {} more (--top)\n", diff.rows.size() - top);
  return out + paragraph("The wait in front of what appeared, went or changed in number is counted with it.", style, 0);
}

std::string sides_table(const trace::TraceDiff& diff, const Style& style) {
  detail::Table table({{"per step", true}, {"A"}, {"B"}, {"change"}});
  for (const auto& row : diff.breakdown) {
    if (row.a == 0 && row.b == 0) continue;
    table.add(
        {row.name + (row.ms ? ", ms" : ""), four_digits(row.a), four_digits(row.b), signed_digits(row.b - row.a)});
  }
  return "\n" + table.text(style);
}

std::string side_text(const char* letter, const trace::DiffSide& side, const Style& style) {
  auto out = paragraph(fmt::format("{}: {} ({}, {})", letter, printable(side.source), plural(side.ranks, "rank"),
                                   plural(side.steps, "step")),
                       style);
  for (const auto& reason : side.doubtful) out += paragraph("     " + printable(reason), style, 7);
  return out;
}

}  // namespace

std::string trace_table(const trace::TraceView& view, const Style& style) {
  auto out = paragraph(heading(view), style) + "\n" + breakdown_table(view, style) + withheld_text(view, style) +
             detail_of(view, style);
  if (view.slowest) out += slowest_text(*view.slowest, style);
  if (!view.notes.empty() || !ignored_text(view, style).empty()) out += "\n";
  for (const auto& note : view.notes) out += paragraph("note: " + printable(note), style, 6);
  return out + ignored_text(view, style);
}

std::string trace_diff_table(const trace::TraceDiff& diff, std::size_t top, const Style& style) {
  auto out = side_text("A", diff.a, style) + side_text("B", diff.b, style);
  for (const auto& note : diff.notes) out += paragraph("note: " + printable(note), style, 6);
  if (!diff.reliable()) {
    return out + detail::colored("Nothing is compared: a trace cannot be trusted (reasons above)", Color::red, style) +
           "\n";
  }
  return out + sides_table(diff, style) + changes_table(diff, top, style);
}

}  // namespace stepgauge::report
