#include "replay/detail/stream_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "contract/plural.hpp"
#include "replay/wording.hpp"

namespace stepgauge::replay::detail {
namespace {

constexpr std::int64_t largest_shift = 4;
constexpr std::size_t fewest_shifted = 3;  ///< records that must fit one place further before it is called a shift
constexpr std::size_t shift_window = 64;

/// Every number that some rank has.
std::vector<std::int64_t> numbers_of(const Group& group) {
  std::vector<std::int64_t> out;
  std::int64_t low = 0, high = -1;  // all numbers between are there already
  for (const auto& stream : group.streams) {
    if (stream.first() >= low && stream.last() <= high) continue;
    for (const auto& record : stream.records) out.push_back(stream.sequence(record));
    const bool whole = stream.last() - stream.first() + 1 == static_cast<std::int64_t>(stream.records.size());
    if (whole && stream.last() - stream.first() > high - low) {
      low = stream.first();
      high = stream.last();
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Boyer and Moore's majority vote, one rank after the other.
void vote(const Group& group, const CollectiveLog& log, std::vector<Column>& columns) {
  std::vector<std::uint32_t> lead(columns.size(), 0);
  for (const auto& stream : group.streams) {
    each_record(stream, columns, stream.records.size(), [&](std::size_t i, std::size_t at) {
      const auto op = stream.records[i].op;
      auto& column = columns[at];
      ++column.present;
      if (column.present == 1) column.op = op;
      if (lead[at] == 0 && column.present > 2) column.op = op;  // of two ranks the lower one's stays
      const bool same = op == column.op || fits(log.ops[op], log.ops[column.op]);
      lead[at] += same ? 1u : lead[at] > 0 ? ~0u : 0u;
    });
  }
}

/// Records from `i` on that fit the columns from `at` on, and how many were compared.
std::pair<std::size_t, std::size_t> fitting(const Stream& stream, std::size_t i, const std::vector<Column>& columns,
                                            std::size_t at, const CollectiveLog& log) {
  std::size_t fit = 0, compared = 0;
  for (; i < stream.records.size() && at < columns.size() && compared < shift_window; ++i, ++at, ++compared) {
    fit += fits(log.ops[stream.records[i].op], log.ops[columns[at].op]) ? 1u : 0u;
  }
  return {fit, compared};
}

/// How far the stream is shifted from record `i`, column `at`, on; 0 where no shift makes it fit.
std::int64_t shift_from(const Stream& stream, std::size_t i, const std::vector<Column>& columns, std::size_t at,
                        const CollectiveLog& log) {
  const auto [straight, straight_of] = fitting(stream, i, columns, at, log);
  const auto explains = [&](std::pair<std::size_t, std::size_t> found) {
    // Most of the window fits shifted, and better than as it stands.
    return found.second >= fewest_shifted && 10 * found.first >= 9 * found.second &&
           found.first * straight_of > straight * found.second;
  };
  for (std::int64_t by = 1; by <= largest_shift; ++by) {
    const auto step = static_cast<std::size_t>(by);
    if (at + step < columns.size() && explains(fitting(stream, i, columns, at + step, log))) return by;
    if (i + step < stream.records.size() && explains(fitting(stream, i + step, columns, at, log))) return -by;
  }
  return 0;
}

Deviation deviation_of(const Stream& stream, const std::vector<Column>& columns, const CollectiveLog& log) {
  Deviation out;
  out.usable = stream.records.size();
  each_record(stream, columns, stream.records.size(), [&](std::size_t i, std::size_t at) {
    const auto op = stream.records[i].op;
    if (i >= out.usable || op == columns[at].op || fits(log.ops[op], log.ops[columns[at].op])) return;
    if (out.mismatches == 0) {
      out.shift = shift_from(stream, i, columns, at, log);
      if (out.shift != 0) {
        out.usable = i;
        out.shifted_at = at;
        return;
      }
      out.first_mismatch = at;
      out.mismatch_op = op;
    }
    ++out.mismatches;
  });
  return out;
}

void count(const Stream& stream, const Deviation& deviation, const CollectiveLog& log, std::vector<Column>& columns) {
  each_record(stream, columns, deviation.usable, [&](std::size_t i, std::size_t at) {
    const auto& record = stream.records[i];
    auto& column = columns[at];
    if (record.op != column.op && !fits(log.ops[record.op], log.ops[column.op])) return;
    ++column.agree;
    if (record.end == not_ended) ++column.open;
    if (record.timed()) ++column.ended;
  });
}

class StreamPatterns {
 public:
  StreamPatterns(const Group& group, const CollectiveLog& log, const Columns& columns, Findings& out)
      : group_(group), log_(log), columns_(columns.columns), deviations_(columns.deviations), out_(out) {}

  void find() {
    if (group_.streams.size() > 1) {
      shifts();
      mismatches();
      silence();
    }
    absent();
  }

 private:
  const Op& op(std::uint32_t index) const { return log_.ops[index]; }
  std::string where() const { return group_text(group_, log_); }
  std::string call(std::size_t column) const {
    return collective_text(columns_[column].sequence, op(columns_[column].op));
  }
  void add(PatternKind kind, std::vector<int> ranks, std::size_t column, std::int64_t collectives, std::string text) {
    out_.patterns.push_back({kind, std::move(ranks), group_.name, columns_[column].sequence, columns_[column].op,
                             collectives, 0, std::move(text)});
    ++found_;
  }
  std::int64_t effective_last(std::size_t stream) const {
    return group_.streams[stream].last() + deviations_[stream].shift;
  }
  void shifts();
  void mismatches();
  void silence();
  void absent();
  std::optional<std::size_t> waited_in(std::int64_t last) const;
  std::vector<int> missing_ranks() const;

  const Group& group_;
  const CollectiveLog& log_;
  const std::vector<Column>& columns_;
  const std::vector<Deviation>& deviations_;
  Findings& out_;
  std::size_t found_ = 0;  ///< patterns of this group
};

void StreamPatterns::shifts() {
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<int>> found;
  for (std::size_t i = 0; i < deviations_.size(); ++i) {
    if (deviations_[i].shift != 0) {
      found[{deviations_[i].shifted_at, deviations_[i].shift}].push_back(group_.streams[i].rank);
    }
  }
  for (const auto& [key, ranks] : found) {
    const auto& [at, shift] = key;
    const bool skipped = shift > 0;
    const auto size = skipped ? shift : -shift;
    const auto missing = plural(size, "collective");
    std::string text;
    if (!columns_[at].majority()) {
      text = fmt::format("{} {} {} {} rank {}{} from {} on: either side skipped {} or ran as many more",
                         ranks_text(ranks), ranks.size() == 1 ? "is" : "are", missing, skipped ? "ahead of" : "behind",
                         group_.streams[0].rank, where(), call(at), missing);
    } else if (skipped) {
      text = fmt::format("{} skipped {}{} at {}: what follows meets the wrong collectives of the others",
                         ranks_text(ranks), missing, where(), call(at));
    } else {
      text = fmt::format("{} ran {} more than the others{} at {}: what follows meets the wrong ones of theirs",
                         ranks_text(ranks), missing, where(), call(at));
    }
    add(skipped ? PatternKind::skipped : PatternKind::extra, ranks, at, size, std::move(text));
  }
}

void StreamPatterns::mismatches() {
  // Ranks that first differ at the same place in the same way are one finding.
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::vector<int>, std::size_t>> found;
  for (std::size_t i = 0; i < deviations_.size(); ++i) {
    const auto& deviation = deviations_[i];
    if (deviation.mismatches == 0) continue;
    auto& [ranks, most] = found[{deviation.first_mismatch, deviation.mismatch_op}];
    ranks.push_back(group_.streams[i].rank);
    most = std::max(most, deviation.mismatches);
  }
  for (auto& [key, one] : found) {
    const auto& [at, calls] = key;
    auto& [ranks, most] = one;
    const auto& column = columns_[at];
    auto text = fmt::format("{} {} {} at {}{}", ranks_text(ranks), ranks.size() == 1 ? "runs" : "run",
                            difference_text(op(calls), op(column.op)), column.sequence, where());
    if (!column.majority()) {
      text += fmt::format("; rank {} runs the other, and there is no majority to say which is right",
                          group_.streams[0].rank);
      ranks.clear();
    }
    if (most > 1) text += fmt::format("; {} collectives differ from there on", most);
    add(PatternKind::mismatch, std::move(ranks), at, static_cast<std::int64_t>(most), std::move(text));
  }
}

/// The collective that others wait in, of those behind `last`; nullopt when they came through without the rank, whose
/// log is then only cut short.
std::optional<std::size_t> StreamPatterns::waited_in(std::int64_t last) const {
  auto at = static_cast<std::size_t>(
      std::upper_bound(columns_.begin(), columns_.end(), last,
                       [](std::int64_t value, const Column& column) { return value < column.sequence; }) -
      columns_.begin());
  std::optional<std::size_t> candidate;
  for (; at < columns_.size(); ++at) {
    const auto& column = columns_[at];
    if (column.open > 0) return at;
    if (column.ended > 0 && ends_together(op(column.op).kind)) return std::nullopt;
    if (column.ended == 0 && !candidate) candidate = at;  // nobody knows whether it ended
  }
  return candidate;
}

void StreamPatterns::silence() {
  std::map<std::int64_t, std::vector<std::size_t>> behind;
  auto furthest = effective_last(0);
  for (std::size_t i = 0; i < group_.streams.size(); ++i) furthest = std::max(furthest, effective_last(i));
  for (std::size_t i = 0; i < group_.streams.size(); ++i) {
    if (effective_last(i) < furthest) behind[effective_last(i)].push_back(i);
  }
  std::vector<int> cut;
  for (const auto& [last, streams] : behind) {
    std::vector<int> ranks;
    for (const auto i : streams) ranks.push_back(group_.streams[i].rank);
    const auto at = waited_in(last);
    if (!at) {
      cut.insert(cut.end(), ranks.begin(), ranks.end());
      continue;
    }
    const auto& stream = group_.streams[streams.front()];
    const bool one = ranks.size() == 1;
    add(PatternKind::silent, ranks, *at, 1,
        fmt::format("{} {} silent{}: {} last collective is {}; {} {} in {}", ranks_text(ranks), one ? "is" : "are",
                    where(), one ? "its" : "their", collective_text(stream.last(), op(stream.records.back().op)),
                    plural(columns_[*at].present, "rank"), columns_[*at].present == 1 ? "waits" : "wait",
                    columns_[*at].sequence));
  }
  if (cut.empty()) return;
  std::sort(cut.begin(), cut.end());
  out_.notes.push_back(fmt::format("the log of {} ends before the others'{}, which came through without it: cut short",
                                   ranks_text(cut), where()));
}

std::vector<int> StreamPatterns::missing_ranks() const {
  std::vector<int> out;
  std::size_t at = 0;
  for (std::int64_t rank = 0; rank < log_.world_size; ++rank) {
    while (at < group_.streams.size() && group_.streams[at].rank < rank) ++at;
    if (at == group_.streams.size() || group_.streams[at].rank != rank) out.push_back(static_cast<int>(rank));
  }
  return out;
}

/// Ranks without a log, and a last collective that nobody left.
void StreamPatterns::absent() {
  const auto here = static_cast<std::int64_t>(group_.streams.size());
  const bool whole_world = group_.size == 0 && log_.groups.size() == 1;
  const auto expected = std::max(group_.size, whole_world ? log_.world_size : 0);
  const bool lacking = expected > here;
  const auto missing = lacking && expected == log_.world_size ? missing_ranks() : std::vector<int>();
  const auto who = missing.empty() ? plural(expected - here, "rank") : ranks_text(missing);
  const auto& last = columns_.back();
  const auto at = columns_.size() - 1;
  if (found_ == 0 && last.open > 0 && last.open == here && (here > 1 || lacking)) {
    if (lacking) {
      add(PatternKind::silent, missing, at, 1,
          fmt::format("{} left no log{}; {} {} in {}", who, where(), plural(here, "rank"), here == 1 ? "waits" : "wait",
                      call(at)));
    } else {
      add(PatternKind::stuck, {}, at, 1,
          fmt::format("all {} ranks are stuck{} in {}: every one entered it, none came out", here, where(), call(at)));
    }
  } else if (lacking) {
    out_.notes.push_back(fmt::format("no log of {}{} ({} ranks belong to it)", who, where(), expected));
  }
}

}  // namespace

Columns compare_streams(const Group& group, const CollectiveLog& log) {
  Columns out;
  for (const auto number : numbers_of(group)) {
    out.columns.emplace_back();
    out.columns.back().sequence = number;
  }
  vote(group, log, out.columns);
  for (const auto& stream : group.streams) {
    out.deviations.push_back(deviation_of(stream, out.columns, log));
    count(stream, out.deviations.back(), log, out.columns);
  }
  return out;
}

void find_stream_patterns(const Group& group, const CollectiveLog& log, const Columns& columns, Findings& out) {
  StreamPatterns(group, log, columns, out).find();
}

}  // namespace stepgauge::replay::detail
