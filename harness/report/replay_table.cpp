#include "report/replay_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "contract/plural.hpp"
#include "replay/wording.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"

namespace stepgauge::report {
namespace {

using detail::Color;
using detail::four_digits;
using detail::paragraph;
using detail::printable;

constexpr std::size_t most_ranks = 16;
constexpr std::size_t file_columns = 44;
constexpr std::size_t site_columns = 14;

std::string ms_of(std::int64_t ns) {
  return ns == replay::not_known ? "-" : four_digits(static_cast<double>(ns) / 1e6);
}

std::string mib_of(std::int64_t bytes) {
  return bytes == replay::not_known ? "-" : four_digits(static_cast<double>(bytes) / detail::mib);
}

std::string heading(const replay::ReplayView& view, const Style& style) {
  std::vector<std::string> sources;
  for (const auto& source : view.sources) sources.push_back(printable(source));
  auto text = fmt::format("{}: {} with collectives, {}", fmt::join(sources, ", "), plural(view.files, "file"),
                          plural(view.ranks.size(), "rank"));
  if (view.world_size > 0) text += fmt::format(" of {}", view.world_size);
  if (view.groups > 1) text += fmt::format(", {}", plural(view.groups, "process group"));
  return paragraph(text, style);
}

/// Places in view.ranks, in order.
std::set<std::size_t> shown_ranks(const replay::ReplayView& view) {
  std::set<std::size_t> out;
  for (const auto& pattern : view.patterns) {
    for (const auto rank : pattern.ranks) {
      const auto at = std::lower_bound(view.ranks.begin(), view.ranks.end(), rank,
                                       [](const replay::RankLog& one, int value) { return one.rank < value; });
      if (out.size() < most_ranks && at != view.ranks.end() && at->rank == rank) {
        out.insert(static_cast<std::size_t>(at - view.ranks.begin()));
      }
    }
  }
  for (std::size_t i = 0; i < view.ranks.size() && out.size() < most_ranks; ++i) out.insert(i);
  return out;
}

std::string ranks_text(const replay::ReplayView& view, const Style& style) {
  detail::Table table({{"rank", true}, {"collectives"}, {"first"}, {"last"}, {"MiB"}, {"send/recv"}, {"file", true}});
  const auto shown = shown_ranks(view);
  bool unsized = false;
  for (const auto at : shown) {
    const auto& rank = view.ranks[at];
    const bool any = rank.collectives > 0;
    const bool partly = rank.unsized > 0;
    unsized = unsized || partly;
    table.add({fmt::format("rank {}", rank.rank), std::to_string(rank.collectives),
               any ? std::to_string(rank.first) : "-", any ? std::to_string(rank.last) : "-",
               mib_of(rank.bytes) + (partly ? "+" : ""), std::to_string(rank.messages),
               detail::shorten_middle(printable(rank.origin), file_columns, file_columns / 2)});
  }
  auto out = "\n" + table.text(style);
  const auto rest = view.ranks.size() - shown.size();
  if (rest > 0) out += fmt::format("... and {}; --json has all of them\n", plural(rest, "more rank"));
  if (unsized) out += "+: and collectives whose size the log does not say\n";
  return out;
}

std::string patterns_text(const replay::ReplayView& view, std::size_t top, const Style& style) {
  if (view.healthy()) return "\nNo pattern of trouble found.\n";
  std::string out = "\n";
  const auto shown = std::min(top, view.patterns.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& pattern = view.patterns[i];
    const auto kind = std::string(to_string(pattern.kind));
    const auto late = pattern.kind == replay::PatternKind::skew || pattern.kind == replay::PatternKind::slow ||
                      pattern.kind == replay::PatternKind::growth;
    out += paragraph(detail::colored(kind, late ? Color::yellow : Color::red, style) + ": " + printable(pattern.text),
                     style);
  }
  if (view.patterns.size() > shown) {
    out += fmt::format("... and {} (--top)\n", plural(view.patterns.size() - shown, "more pattern"));
  }
  return out;
}

std::string slowest_text(const replay::ReplayView& view, const Style& style) {
  if (view.slowest.empty()) return "";
  detail::Table table({{"slowest", true},
                       {"collective", true},
                       {"from", true},
                       {"longest ms"},
                       {"on rank"},
                       {"shortest ms"},
                       {"skew ms"},
                       {"last rank"}});
  for (const auto& slow : view.slowest) {
    const auto& timing = slow.timing;
    const bool compared = timing.compared >= 2;
    const auto site = slow.op.call_site.empty() ? slow.group : slow.op.call_site;
    table.add({std::to_string(timing.sequence), replay::op_text(slow.op),
               detail::shorten_middle(printable(site), site_columns, site_columns / 2), ms_of(timing.longest),
               std::to_string(timing.longest_rank), ms_of(timing.shortest), compared ? ms_of(timing.skew()) : "-",
               compared ? std::to_string(timing.last_rank) : "-"});
  }
  return "\n" + table.text(style);
}

std::string notes_text(const replay::ReplayView& view, const Style& style) {
  std::string out;
  if (view.ranks.size() > 1) {
    out += view.clocks > 0 ? fmt::format("clocks of {} aligned by the ends of collectives, to within {} ms\n",
                                         plural(view.clocks, "rank"), ms_of(view.clock_error))
                           : "skew is not known: the logs do not say when collectives ended on enough ranks\n";
  }
  if (view.unread_lines > 0) {
    out += paragraph(
        fmt::format("{} not understood, first: {}", plural(view.unread_lines, "line"), printable(view.first_unread)),
        style);
  }
  for (const auto& note : view.notes) out += paragraph("note: " + printable(note), style);
  return out.empty() ? out : "\n" + out;
}

/// Equal collectives of a replay.
struct Replayed {
  std::int64_t calls = 0, compared = 0;
  double recorded_ms = 0, beside_ms = 0, replayed_ms = 0;  ///< `beside_ms`: here, of those that the logs have a time of
  std::string skipped;

  double ratio() const { return beside_ms / recorded_ms; }
};

std::string name_of(const Json& collective) {
  const auto bytes = collective.at("bytes");
  return fmt::format("{} {}", printable(collective.at("kind").get<std::string>()),
                     bytes.is_null() ? "of unknown size" : mib_of(bytes.get<std::int64_t>()) + " MiB");
}

std::string replayed_sum(const Json& replay) {
  const auto compared = replay.at("compared").get<std::int64_t>();
  const auto here = replay.at("total_replayed_ms").get<double>();
  if (compared == 0)
    return fmt::format("here {} ms in all; the logs have no times to compare with\n", four_digits(here));
  const auto then = replay.at("total_recorded_ms").get<double>();
  return fmt::format("{} with a time in the logs: {} ms there, {} ms here{}\n", plural(compared, "collective"),
                     four_digits(then), four_digits(here),
                     then > 0 ? fmt::format(", {}x", four_digits(here / then)) : std::string());
}

}  // namespace

std::string replayed_table(const Json& replay, std::size_t top, const Style& style) {
  std::map<std::string, Replayed> kinds;
  for (const auto& collective : replay.at("collectives")) {
    auto& kind = kinds[name_of(collective)];
    ++kind.calls;
    if (collective.contains("skipped")) kind.skipped = printable(collective.at("skipped").get<std::string>());
    const auto replayed = collective.at("replayed_ms"), recorded = collective.at("recorded_ms");
    if (replayed.is_null()) continue;
    kind.replayed_ms += replayed.get<double>();
    if (recorded.is_null()) continue;
    ++kind.compared;
    kind.recorded_ms += recorded.get<double>();
    kind.beside_ms += replayed.get<double>();
  }
  std::vector<std::pair<std::string, Replayed>> rows(kinds.begin(), kinds.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.replayed_ms > b.second.replayed_ms; });
  detail::Table table({{"made again", true}, {"calls"}, {"logs ms"}, {"here ms"}, {"here / logs"}});
  std::string left_out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [name, kind] = rows[i];
    if (!kind.skipped.empty()) left_out += paragraph(fmt::format("not made: {}: {}", name, kind.skipped), style);
    if (i >= top || kind.replayed_ms == 0) continue;
    table.add({name, std::to_string(kind.calls), kind.compared > 0 ? four_digits(kind.recorded_ms) : "-",
               four_digits(kind.compared > 0 ? kind.beside_ms : kind.replayed_ms),
               kind.recorded_ms > 0 ? four_digits(kind.ratio()) : "-"});
  }
  auto out = "\n" + table.text(style);
  if (rows.size() > top) out += fmt::format("... and {} (--top)\n", plural(rows.size() - top, "more kind"));
  return out + left_out + replayed_sum(replay);
}

std::string replay_table(const replay::ReplayView& view, std::size_t top, const Style& style) {
  return heading(view, style) + ranks_text(view, style) + patterns_text(view, top, style) + slowest_text(view, style) +
         notes_text(view, style);
}

}  // namespace stepgauge::report
