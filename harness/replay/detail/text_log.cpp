#include "replay/detail/text_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace stepgauge::replay::detail {
namespace {

constexpr std::string_view fingerprint = "CollectiveFingerPrint(";
constexpr std::size_t prefix_bytes = 200;
constexpr std::size_t most_reported = 10'000;  ///< errors of a run that repeats them for ever

std::string_view until(std::string_view text, std::string_view stops) {
  return text.substr(0, text.find_first_of(stops));
}

/// The text behind `name` up to one of `stops`; empty where the name is not there.
std::string_view field(std::string_view text, std::string_view name, std::string_view stops) {
  const auto at = text.find(name);
  return at == std::string_view::npos ? std::string_view() : until(text.substr(at + name.size()), stops);
}

/// "[16, 3]" without the brackets -> 48. A fingerprint of several tensors gives all their dimensions in one list, which
/// cannot be told apart: not_known.
std::int64_t elements(std::string_view shape, std::string_view dtypes) {
  if (dtypes.find(' ') != std::string_view::npos) return not_known;
  std::int64_t out = 1;
  while (!shape.empty()) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), size);
    if (error != std::errc() || size < 0 || __builtin_mul_overflow(out, size, &out)) return not_known;
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
    const auto next = shape.find_first_not_of(", ");
    shape.remove_prefix(next == std::string_view::npos ? shape.size() : next);
  }
  return out;
}

/// The rank that a fingerprint is of: the last one named before it, "[Rank 1] Running collective: " or "Rank 1 is
/// running collective: ".
std::optional<std::int64_t> rank_before(std::string_view text) {
  const auto at = text.rfind("Rank ");
  return at == std::string_view::npos ? std::nullopt : number_behind(text.substr(at), "Rank ");
}

}  // namespace

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view name, int base) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const auto* begin = text.data() + at + name.size();
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), out, base);
  return error == std::errc() && end != begin && out >= 0 ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> rank_in_prefix(std::string_view line) {
  const auto head = line.substr(0, prefix_bytes);
  for (const std::string_view name : {"[rank", "[Rank ", "[RANK "}) {
    if (const auto rank = number_behind(head, name)) return rank;
  }
  if (head.starts_with("[1,")) return number_behind(head, "[1,");
  return std::nullopt;
}

void TextLogs::add(const Reported& one) {
  auto& counted = ranks_[one.rank];
  auto at = std::find_if(counted.begin(), counted.end(),
                         [&](const Counted& group) { return group.last + 1 == one.sequence; });
  if (at == counted.end()) {
    const auto number = counted.size();
    counted.push_back({number == 0 ? "" : fmt::format("group {}", number), 0});
    at = std::prev(counted.end());
  }
  at->last = one.sequence;
  auto& stream = into_.stream(one.rank, at->group, one.path);
  if (!into_.add(stream, one.sequence, into_.intern(one.op), not_known, not_known)) {
    into_.unread(one.path, one.line, "the sequence number is out of range");
  }
}

bool TextLogs::printed(const Reported& one) {
  for (const auto& group : ranks_[one.rank]) {
    const auto& stream = into_.stream(one.rank, group.group, one.path);
    const auto same = [&](const Record& record) {
      return stream.sequence(record) == one.sequence && fits(into_.op(record.op), one.op);
    };
    if (std::any_of(stream.records.rbegin(), stream.records.rend(), same)) return true;
  }
  return false;
}

void TextLogs::finish() {
  for (const auto& one : reported_) {
    if (!printed(one)) add(one);
  }
  nccl_.finish();
}

void TextLogs::fingerprints(std::string_view line, const LineReader& lines, std::optional<std::int64_t> rank) {
  const bool is_error = line.find("is running collective") != std::string_view::npos;
  for (std::size_t at = line.find(fingerprint); at != std::string_view::npos;) {
    const auto next = line.find(fingerprint, at + fingerprint.size());
    const auto text = line.substr(at, next == std::string_view::npos ? next : next - at);
    const auto named = rank_before(line.substr(0, at));
    const auto of = named ? named : rank;
    line = next == std::string_view::npos ? std::string_view() : line.substr(at + fingerprint.size());
    at = line.find(fingerprint);
    const auto sequence = number_behind(text, "SequenceNumber=");
    const auto type = field(text, "OpType=", ",)");
    if (!of || !sequence || type.empty()) {
      into_.unread(lines.path(), lines.number(),
                   !of ? "whose rank this is cannot be told: expected [rankN] before it or rankN in the file's name"
                   : !sequence ? "a fingerprint without SequenceNumber"
                               : "a fingerprint without OpType");
      continue;
    }
    Op op;
    op.kind = kind_from(type);
    const auto dtypes = field(text, "TensorDtypes=", ",)");
    op.dtype = dtype_from(dtypes);
    if (text.find("TensorShape=[") != std::string_view::npos) {
      const auto shape = field(text, "TensorShape=[", "]");
      op.shape = shape_hash(shape);
      op.count = elements(shape, dtypes);
      if (op.count != not_known && dtype_bytes(op.dtype) > 0 &&
          __builtin_mul_overflow(op.count, dtype_bytes(op.dtype), &op.bytes)) {
        op.bytes = not_known;
      }
    } else if (op.kind == Kind::barrier) {
      op.bytes = op.count = 0;
    }
    Reported one{*of, *sequence, op, lines.path(), lines.number()};
    if (!is_error) {
      add(one);
    } else if (reported_.size() < most_reported) {
      reported_.push_back(std::move(one));
    }
  }
}

void TextLogs::read(LineReader& lines, std::optional<std::int64_t> rank) {
  for (std::string_view line; lines.next(line);) {
    const auto named = rank_in_prefix(line);
    if (line.find(fingerprint) != std::string_view::npos) {
      fingerprints(line, lines, named ? named : rank);
    } else if (line.find("NCCL INFO ") != std::string_view::npos) {
      nccl_.line(line, lines, named ? named : rank);
    }
  }
}

}  // namespace stepgauge::replay::detail
