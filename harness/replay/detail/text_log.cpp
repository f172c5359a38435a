#include "replay/detail/text_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace stepgauge::replay::detail {
namespace {

constexpr std::string_view fingerprint = "CollectiveFingerPrint(";
constexpr std::size_t prefix_bytes = 200;

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

void TextLogs::add(std::int64_t rank, std::int64_t sequence, const Op& op, const LineReader& lines) {
  const auto index = into_.intern(op);
  auto& counted = ranks_[rank];
  // A mismatch repeats the fingerprint that the rank printed itself.
  const auto repeats = [&](const Counted& one) { return one.last == sequence && fits(into_.op(one.op), op); };
  if (std::any_of(counted.begin(), counted.end(), repeats)) return;
  auto at = std::find_if(counted.begin(), counted.end(), [&](const Counted& one) { return one.last + 1 == sequence; });
  if (at == counted.end()) {
    const auto number = counted.size();
    counted.push_back({number == 0 ? "" : fmt::format("group {}", number), 0, 0});
    at = std::prev(counted.end());
  }
  at->last = sequence;
  at->op = index;
  if (!into_.add(into_.stream(rank, at->group, lines.path()), sequence, index, not_known, not_known)) {
    into_.unread(lines.path(), lines.number(), "the sequence number is out of range");
  }
}

void TextLogs::fingerprints(std::string_view line, const LineReader& lines, std::optional<std::int64_t> rank) {
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
    add(*of, *sequence, op, lines);
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
