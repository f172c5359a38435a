#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "contract/digest.hpp"
#include "contract/plural.hpp"
#include "report/change_report.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/machine_text.hpp"
#include "report/detail/verdict_words.hpp"

namespace stepgauge::report {
namespace {

using detail::comment;
using verdict::Verdict;

constexpr std::size_t longest_cell = 140, longest_reason = 300, longest_command = 1500;

std::string short_text(const std::string& text, std::size_t longest) {
  return comment(detail::shorten_middle(detail::printable(text), longest, 60));
}

std::string code_block(const std::string& text) {
  const auto cut = detail::shorten_middle(text, longest_command, longest_command / 2);
  const auto fence = detail::backquotes(cut, 3);
  return fmt::format("{0}sh\n{1}\n{0}\n", fence, cut);
}

/// What the comment is found by: nothing but a name, whatever the suite is called.
std::string marker(const std::string& suite) {
  std::string name;
  for (const char c : suite) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    name += plain || (c == '-' && !name.ends_with('-')) ? c : '_';
  }
  return fmt::format("<!-- stepgauge:{} -->\n", name);
}

std::size_t cells_with(const ChangeReport& report, Verdict verdict) {
  std::vector<std::string> cells;
  for (const auto& row : report.rows) {
    if (row.verdict == verdict && !row.advisory) cells.push_back(row.cell);
  }
  std::sort(cells.begin(), cells.end());
  return static_cast<std::size_t>(std::unique(cells.begin(), cells.end()) - cells.begin());
}

/// Verdict in bold, then what the reader of a change has to do.
std::string action(const ChangeReport& report) {
  const auto& counts = report.counts;
  if (report.interrupted)
    return "**No verdict: the gate was interrupted.** What was measured before counts when it is gone on with.";
  switch (report.exit_code) {
    case ExitCode::nothing_worse:
      return "**Nothing is worse.** No action is needed.";
    case ExitCode::regression:
      return fmt::format(
          "**Do not merge as it is.** {} in {} {} worse by what counts as a change{}. Find the cause, or take the "
          "change "
          "back.",
          plural(counts.regressed, "row"), plural(cells_with(report, Verdict::regressed), "cell"),
          counts.regressed == 1 ? "is" : "are", report.gate ? ", confirmed on new launches" : "");
    case ExitCode::measurement_failed:
      return fmt::format(
          "**No verdict: measurements failed** ({} invalid). See the reasons below; mend them and measure "
          "again.",
          plural(counts.invalid, "row"));
    case ExitCode::inconclusive:
      return fmt::format(
          "**Inconclusive: neither a pass nor a regression** ({}, {} of them not gateable). Take more launches or a "
          "quieter machine, or widen the tolerance of these rows with a reason.",
          plural(counts.inconclusive, "row"), report.not_gateable.value_or(0));
    default:
      if (!report.refusal.empty()) return "**Not comparable.** " + short_text(report.refusal, longest_reason);
      if (counts.compared == 0) return "**Nothing was compared.** That is no pass: see why below, and measure again.";
      return fmt::format(
          "**Not comparable:** {} of one side only. Give base and head the same cells and metrics, or "
          "regenerate the baseline.",
          plural(counts.missing, "row"));
  }
}

std::string counts_text(const ChangeReport& report) {
  const auto& counts = report.counts;
  const auto gateable = report.not_gateable ? fmt::format(" ({} not gateable)", *report.not_gateable) : std::string();
  return fmt::format(
      "Compared {} of {} expected rows in {} of {} cells: {} pass, {} regressed, {} improved, {} inconclusive{}, {} "
      "invalid, {} missing.",
      counts.compared, counts.expected, report.cells_measured, report.cells_expected, counts.passed, counts.regressed,
      counts.improved, counts.inconclusive, gateable, counts.invalid, counts.missing);
}

std::string top_text(const ChangeReport& report) {
  auto out = marker(report.suite);
  out += fmt::format("## stepgauge {} {}: {}\n\n", report.gate ? "gate" : "comparison", comment(report.suite),
                     report.interrupted ? "INTERRUPTED" : detail::headline(report.exit_code).text);
  out += action(report) + "\n\n" + counts_text(report) + "\n";
  if (!report.stopped.empty()) {
    out += fmt::format("\nEnded early: {}.", short_text(report.stopped, longest_reason));
    out += report.resume.empty() ? "\n" : " Go on with:\n\n" + code_block(report.resume);
  }
  if (report.counts.improved > 0) {
    out += fmt::format(
        "\n{} improved: once this is merged, keep head as the new baseline, so that it is not lost again.\n",
        plural(report.counts.improved, "row"));
    if (!report.new_baseline.empty()) out += "\n" + code_block(report.new_baseline);
  }
  if (std::any_of(report.rows.begin(), report.rows.end(), [](const ChangeRow& row) { return row.perturbed; }))
    out += "\n**PERTURBED**: cells marked \\* are slowed on purpose; this is no verdict on real performance.\n";
  return out;
}

std::string cell_text(const ChangeRow& row) {
  return (row.perturbed ? "\\* " : "") + short_text(row.cell, longest_cell);
}

std::string metric_text(const ChangeRow& row) {
  return comment(row.metric) + (row.unit.empty() ? "" : " " + comment(row.unit));
}

constexpr const char* confirmed_head =
    "| cell | metric | base | head | change | 95 % interval | tolerance | n | MDE |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|\n";

std::string confirmed_line(const ChangeRow& row) {
  auto out = fmt::format("| {} | {} | {} | {} | **{}** | {} | {} | {} | {} |\n", cell_text(row), metric_text(row),
                         row.base, row.head, row.change, row.interval, row.tolerance, row.launches, row.mde);
  // A row without numbers (crashes) is its reason.
  if (!row.reason.empty()) out += fmt::format("| | {} | | | | | | | |\n", short_text(row.reason, longest_reason));
  return out;
}

std::string listed_line(const ChangeRow& row) {
  return fmt::format("- {} {}: {} ({}), tolerance {}, {}, MDE {}{}{}\n", cell_text(row), metric_text(row), row.change,
                     row.interval, row.tolerance, row.launches, row.mde, row.reason.empty() ? "" : ": ",
                     short_text(row.reason, longest_reason));
}

constexpr const char* folded_head =
    "| cell | metric | change | 95 % interval | tolerance | n | MDE | verdict "
    "|\n|---|---|---:|---:|---:|---:|---:|---|\n";

std::string folded_line(const ChangeRow& row) {
  const auto word = fmt::format("{}{}{}", to_string(row.verdict), row.advisory ? " (advisory)" : "",
                                row.gateable ? "" : " (not gateable)");
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {}{}{} |\n", cell_text(row), metric_text(row), row.change,
                     row.interval, row.tolerance, row.launches, row.mde, word, row.reason.empty() ? "" : ": ",
                     short_text(row.reason, longest_reason));
}

/// Lines as far as they fit into what is left; those that do not are counted.
class Pages {
 public:
  explicit Pages(std::size_t left) : left_(left) {}

  std::string section(const std::string& head, const std::vector<std::string>& lines, const std::string& foot) {
    constexpr std::size_t room_for_count = 120;
    if (lines.empty()) return "";
    const auto frame = head.size() + foot.size() + room_for_count;
    if (left_ < frame) return "";
    auto out = head;
    left_ -= frame;
    std::size_t shown = 0;
    while (shown < lines.size() && lines[shown].size() <= left_) {
      out += lines[shown];
      left_ -= lines[shown++].size();
    }
    if (shown < lines.size())
      out += fmt::format("\n{} of {} are shown here; all are in the JSON document.\n", shown, lines.size());
    return out + foot;
  }

 private:
  std::size_t left_;
};

std::string folded(const std::string& summary) {
  return fmt::format("\n<details><summary>{}</summary>\n\n", summary);
}

void add_fields(const char* title, const std::vector<verdict::FieldDifference>& items, std::vector<std::string>& out) {
  for (const auto& item : items) {
    out.push_back(fmt::format("- {} {}: {} -> {}\n", title, short_text(item.field, 80), short_text(item.base, 100),
                              short_text(item.head, 100)));
  }
}

/// How it was measured; at most a quarter of `most_bytes`, and the command.
std::string provenance(const ChangeReport& report, std::size_t most_bytes) {
  std::vector<std::string> lines{fmt::format("- base: {}\n- head: {}\n", short_text(report.base, longest_reason),
                                             short_text(report.head, longest_reason))};
  if (report.seed) {
    lines.push_back(fmt::format("- seed {}, attempt {}, {:.0f} s; {}\n", *report.seed, report.attempts,
                                report.elapsed_s, report.design));
  }
  if (!report.created_at.empty()) lines.push_back(fmt::format("- {}\n", short_text(report.created_at, 60)));
  if (!report.fingerprint.empty()) {
    lines.push_back(fmt::format("- machine: {}; fingerprint {}\n",
                                short_text(detail::machine_text(report.fingerprint), longest_reason),
                                sha256_hex(dump_line(report.fingerprint)).substr(0, 8)));
  }
  add_fields("machine differs,", report.machine, lines);
  for (const auto& note : report.notes) lines.push_back(fmt::format("- {}\n", short_text(note, longest_reason)));
  add_fields("software differs,", report.software, lines);
  auto foot = report.command.empty() ? std::string() : "\n" + code_block(report.command);
  foot += "\n</details>\n";
  return Pages(most_bytes / 4 + foot.size())
      .section(folded("How it was measured, and how to measure it again"), lines, foot);
}

std::vector<std::string> lines_of(const ChangeReport& report, const std::function<bool(const ChangeRow&)>& wanted,
                                  std::string (*line)(const ChangeRow&)) {
  std::vector<std::string> out;
  for (const auto& row : report.rows) {
    if (wanted(row)) out.push_back(line(row));
  }
  return out;
}

bool confirmed(const ChangeRow& row) {
  return row.verdict == Verdict::regressed && !row.advisory;
}

/// Worse by the look of it, and nothing that was proved.
bool unconfirmed(const ChangeRow& row) {
  return !confirmed(row) && row.worse && !row.advisory && row.verdict != Verdict::improved;
}

bool failed(const ChangeRow& row) {
  return !unconfirmed(row) && (row.verdict == Verdict::invalid || row.verdict == Verdict::missing);
}

}  // namespace

std::string comment_markdown(const ChangeReport& report, std::size_t most_bytes) {
  auto out = top_text(report);
  const auto tail = provenance(report, most_bytes);
  Pages pages(most_bytes > out.size() + tail.size() ? most_bytes - out.size() - tail.size() : 0);
  out += pages.section(std::string("\n### Confirmed\n\n") + confirmed_head, lines_of(report, confirmed, confirmed_line),
                       "");
  out += pages.section("\n### Looks worse, not confirmed\n\n", lines_of(report, unconfirmed, listed_line), "");
  const auto bad = lines_of(report, failed, folded_line);
  out += pages.section(folded("Could not be measured or compared: " + plural(bad.size(), "row")) + folded_head, bad,
                       "\n</details>\n");
  const auto rest = lines_of(
      report, [](const ChangeRow& row) { return !confirmed(row) && !unconfirmed(row) && !failed(row); }, folded_line);
  out += pages.section(folded("All other rows: " + std::to_string(rest.size())) + folded_head, rest, "\n</details>\n");
  std::vector<std::string> skipped;
  for (const auto& cell : report.skipped)
    skipped.push_back(
        fmt::format("- {}: {}\n", short_text(cell.id, longest_cell), short_text(cell.reason, longest_reason)));
  out += pages.section(folded("Not measured here: " + plural(skipped.size(), "cell")), skipped, "\n</details>\n");
  return out + tail;
}

}  // namespace stepgauge::report
