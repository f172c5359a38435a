#include "verdict/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "contract/plural.hpp"
#include "verdict/detail/matrix_settings.hpp"
#include "verdict/detail/why_parts.hpp"
#include "verdict/detail/why_settings.hpp"

namespace stepgauge::verdict {
namespace {

const CellResults* find(const CellIndex& index, const std::string& id) {
  const auto found = index.find(id);
  return found == index.end() ? nullptr : found->second;
}

/// Sizes of the change for the worse, and what counts as one, on the scale of the analysis.
std::optional<std::pair<double, double>> worse_of(const JudgedRow& row) {
  if (!row.change || !row.threshold) return std::nullopt;
  const bool ratio = row.scale == Scale::ratio;
  const double diff = ratio ? std::log1p(*row.change) : *row.change;
  return std::pair{row.better == Better::higher ? -diff : diff, ratio ? std::log1p(*row.threshold) : *row.threshold};
}

/// As the explanations of a comparison: the bad ones spread by no more than a threshold, or a third of the largest.
bool about_the_same(const std::vector<const JudgedRow*>& rows) {
  constexpr double share = 0.35;
  double least = std::numeric_limits<double>::infinity(), most = -least, theta = 0;
  for (const auto* row : rows) {
    const auto worse = worse_of(*row);
    if (!worse) return false;
    least = std::min(least, worse->first);
    most = std::max(most, worse->first);
    theta = std::max(theta, worse->second);
  }
  return !rows.empty() && most - least <= std::max(theta, share * most);
}

Health health_of(Verdict verdict) {
  if (verdict == Verdict::regressed) return Health::bad;
  return verdict == Verdict::pass || verdict == Verdict::improved ? Health::good : Health::unjudged;
}

class Explanation {
 public:
  Explanation(const WhyEvidence& evidence, const WhyOptions& options)
      : evidence_(evidence), options_(options), base_(index_of(evidence.base)), head_(index_of(evidence.head)) {}

  Why make() {
    out_.suite = evidence_.head.suite;
    out_.base_name = evidence_.base.name;
    out_.head_name = evidence_.head.name;
    count();
    settings();
    for (const auto& row : rows_to_explain(evidence_.rows, options_)) explain(row);
    patterns();
    out_.exit_code = out_.compared + out_.worse > 0 ? ExitCode::nothing_worse : ExitCode::not_comparable;
    return std::move(out_);
  }

 private:
  void count() {
    for (const auto& row : evidence_.rows) {
      if (!row.blocking) continue;
      out_.compared += row.change.has_value();
      out_.worse += row.verdict == Verdict::regressed;
      out_.undecided += row.verdict == Verdict::inconclusive;
    }
    if (out_.compared + out_.worse == 0) out_.refusal = "no row has numbers in both arms";
  }

  /// What differs between the arms, cell by cell and then everywhere.
  void settings() {
    std::vector<std::vector<WhyLine>*> all;
    std::set<std::string> seen;
    for (const auto& row : evidence_.rows) {
      const auto* base = find(base_, row.base_cell);
      const auto* head = find(head_, row.cell);
      if (base == nullptr || head == nullptr || !seen.insert(row.cell).second) continue;
      const auto clocks = evidence_.clocks.find(row.cell);
      auto& lines = settings_[row.cell];
      lines = detail::setting_differences(*base, *head,
                                          clocks == evidence_.clocks.end() ? std::vector<WhyLine>() : clocks->second);
      all.push_back(&lines);
    }
    out_.everywhere = evidence_.arms;
    for (auto& line : detail::machine_differences(evidence_.base, evidence_.head))
      out_.everywhere.push_back(std::move(line));
    for (auto& line : detail::take_common(all)) out_.everywhere.push_back(std::move(line));
  }

  WhyPart settings_part(const JudgedRow& row) const {
    WhyPart out;
    out.lines = settings_.at(row.cell);
    if (!out_.everywhere.empty())
      out.notes.push_back(fmt::format("and {} that differ{} in every cell", out_.everywhere.size(),
                                      out_.everywhere.size() == 1 ? "s" : ""));
    return out;
  }

  void explain(const JudgedRow& row) {
    WhyRow why;
    why.row = row;
    const auto* base = find(base_, row.base_cell);
    const auto* head = find(head_, row.cell);
    if (base != nullptr && head != nullptr) why.parts = parts_of(row, *base, *head);
    out_.rows.push_back(std::move(why));
  }

  std::vector<WhyPart> parts_of(const JudgedRow& row, const CellResults& base, const CellResults& head) const {
    static const TraceEvidence no_traces{{}, {}, {}, "no traces were looked for"};
    const auto arms = detail::arms_of(base, head);
    const auto family = detail::family_of(row.metric);
    const auto traces = evidence_.traces.find(row.cell);
    const auto& traced = traces == evidence_.traces.end() ? no_traces : traces->second;
    std::vector<WhyPart> out{settings_part(row)};
    switch (family) {
      case detail::Family::launches:
        out.push_back(detail::failures_part(arms));
        break;
      case detail::Family::init:
      case detail::Family::first_step:
        out.push_back(detail::phases_part(arms, family, traced));
        break;
      case detail::Family::speed:
        out.push_back(detail::phases_part(arms, family, traced));
        out.push_back(detail::kernels_part(traced));
        out.push_back(detail::collectives_part(arms));
        break;
      case detail::Family::memory:
        out.push_back(detail::memory_part(arms, row.metric));
        break;
      case detail::Family::other:
        break;
    }
    out.push_back(detail::compile_part(arms, row.metric, family));
    std::stable_sort(out.begin(), out.end(),
                     [](const WhyPart& a, const WhyPart& b) { return weight_of(a) > weight_of(b); });
    return out;
  }

  /// Settings that differ stand first, then what explains the largest share, then what differs without a share.
  static double weight_of(const WhyPart& part) {
    constexpr double before_all = 100, without_share = 0.01;
    if (part.kind == WhyKind::failures) return before_all;
    if (part.lines.empty()) return part.absent.empty() ? 0 : -1;
    if (part.kind == WhyKind::settings) return before_all + 1;
    double largest = without_share;
    for (const auto& line : part.lines) largest = std::max(largest, std::min(line.share.value_or(0), 10.0));
    return largest;
  }

  void patterns() {
    std::vector<std::string> metrics;
    for (const auto& row : evidence_.rows) {
      if (row.blocking && row.verdict == Verdict::regressed &&
          std::find(metrics.begin(), metrics.end(), row.metric) == metrics.end())
        metrics.push_back(row.metric);
    }
    for (const auto& metric : metrics) out_.patterns.push_back(pattern_of(metric));
  }

  /// A cell without a row of failed launches has none of them.
  std::vector<const JudgedRow*> rows_of(const std::string& metric) const {
    std::vector<const JudgedRow*> out;
    std::set<std::string> told;
    for (const auto& row : evidence_.rows) {
      if (row.metric != metric || !row.blocking) continue;
      out.push_back(&row);
      told.insert(row.cell);
    }
    if (metric != launches_row) return out;
    for (const auto& row : evidence_.rows) {
      if (row.change && told.insert(row.cell).second) out.push_back(&row);
    }
    return out;
  }

  WhyPattern pattern_of(const std::string& metric) const {
    WhyPattern out;
    out.metric = metric;
    std::vector<const Cell*> cells;
    std::vector<Health> health;
    std::vector<const JudgedRow*> bad;
    for (const auto* row : rows_of(metric)) {
      const auto* head = find(head_, row->cell);
      if (head == nullptr) continue;
      cells.push_back(&head->cell);
      health.push_back(row->metric == metric ? health_of(row->verdict) : Health::good);
      if (health.back() != Health::bad) continue;
      bad.push_back(row);
      out.bad_cells.push_back(row->cell);
    }
    const auto settings = detail::settings_over(cells);
    std::vector<SeparationCell> members;
    for (std::size_t i = 0; i < cells.size(); ++i) members.push_back({settings[i], health[i]});
    out.separation = separate(members);
    out.alike = about_the_same(bad);
    return out;
  }

  const WhyEvidence& evidence_;
  const WhyOptions& options_;
  CellIndex base_, head_;
  std::map<std::string, std::vector<WhyLine>> settings_;  ///< id in head -> what differs there alone
  Why out_;
};

}  // namespace

std::string_view to_string(WhyKind kind) {
  static constexpr std::string_view words[] = {"settings",    "failures", "phases", "kernels",
                                               "collectives", "memory",   "compile"};
  return words[static_cast<std::size_t>(kind)];
}

std::string WhyPattern::text() const {
  const auto& found = separation;
  const std::string what = metric == launches_row ? "launches fail" : metric + " is worse";
  std::string out;
  switch (found.kind) {
    case SeparationKind::uniform:
      out = fmt::format("{} in all {} that could be judged{}: no setting of the matrix is the cause", what,
                        plural(found.bad, "cell"), alike ? ", by about the same" : "");
      break;
    case SeparationKind::alone:
      out = fmt::format("{} in the only cell that could be judged: nothing to separate it from", what);
      break;
    case SeparationKind::separated:
      out = fmt::format("{} in exactly the {} of {} judged cells with {}", what, found.bad, found.bad + found.good,
                        text_of(found.conjunctions.front()));
      for (std::size_t i = 1; i < found.conjunctions.size(); ++i)
        out += "; just as small: " + text_of(found.conjunctions[i]);
      break;
    default:
      out = fmt::format(
          "{} in {} of {} judged cells, and no setting, nor up to {} settings together, separate{} them "
          "from the others",
          what, found.bad, found.bad + found.good, most_separating_terms, found.bad == 1 ? "s" : "");
  }
  if (found.unjudged > 0) out += fmt::format(" ({} could not be judged)", plural(found.unjudged, "cell"));
  return out;
}

std::vector<JudgedRow> rows_to_explain(const std::vector<JudgedRow>& rows, const WhyOptions& options) {
  const std::set<std::string> cells(options.cells.begin(), options.cells.end());
  std::vector<JudgedRow> out;
  for (const auto& row : rows) {
    const bool wanted =
        row.verdict == Verdict::regressed || (options.undecided && row.verdict == Verdict::inconclusive);
    const bool chosen = cells.empty() || cells.count(row.cell) != 0;
    if (row.blocking && wanted && chosen) out.push_back(row);
  }
  return out;
}

Why explain_rows(const WhyEvidence& evidence, const WhyOptions& options) {
  return Explanation(evidence, options).make();
}

}  // namespace stepgauge::verdict
