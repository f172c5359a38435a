#include "replay/detail/log_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "contract/json_io.hpp"

namespace stepgauge::replay::detail {
namespace {

constexpr std::int64_t most_ranks = 1 << 24;
constexpr std::int64_t highest_offset = std::numeric_limits<std::uint32_t>::max();

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

std::uint64_t hash_of(const Op& op) {
  auto hash = mix(static_cast<std::uint64_t>(op.kind) + 1, static_cast<std::uint64_t>(op.bytes));
  hash = mix(mix(hash, static_cast<std::uint64_t>(op.count)), op.shape);
  return mix(mix(hash, std::hash<std::string>{}(op.dtype)), std::hash<std::string>{}(op.call_site));
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return a == not_known || b == not_known || __builtin_add_overflow(a, b, &out) ? not_known : out;
}

}  // namespace

std::uint64_t shape_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash == 0 ? 1 : hash;
}

LogBuilder::Open& LogBuilder::open(std::int64_t rank, const std::string& group, const std::string& origin) {
  if (rank < 0 || rank >= most_ranks) {
    throw ContractError(fmt::format("{}: rank {}, expected 0 to {}", origin, rank, most_ranks - 1));
  }
  auto& place = streams_[{group, static_cast<int>(rank)}];
  if (place.stream == nullptr) {
    place.stream = std::make_unique<Stream>();
    place.stream->rank = static_cast<int>(rank);
    place.origin = origin;
  }
  auto& counts = ranks_[place.stream->rank];
  if (counts.origin.empty()) counts.origin = origin;
  return place;
}

Stream& LogBuilder::stream(std::int64_t rank, const std::string& group, const std::string& origin) {
  return *open(rank, group, origin).stream;
}

Stream& LogBuilder::only_stream(std::int64_t rank, const std::string& group, const std::string& origin) {
  const auto& place = open(rank, group, origin);
  if (place.origin != origin) {
    throw ContractError(fmt::format("{}: left out, rank {} was read from {} already", origin, rank, place.origin));
  }
  return *place.stream;
}

std::uint32_t LogBuilder::intern(const Op& op) {
  const auto hash = hash_of(op);
  const auto [begin, end] = op_index_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (ops_[at->second] == op) return at->second;
  }
  const auto index = static_cast<std::uint32_t>(ops_.size());
  ops_.push_back(op);
  op_index_.emplace(hash, index);
  return index;
}

bool LogBuilder::add(Stream& stream, std::int64_t sequence, std::uint32_t op, std::int64_t enter, std::int64_t end) {
  if (sequence < 0) return false;
  if (++records_ > limits_.records) {
    throw ContractError(fmt::format("the logs hold more than {} collectives; give fewer ranks", limits_.records));
  }
  if (point_to_point(ops_[op].kind)) {
    auto& counts = ranks_[stream.rank];
    ++counts.messages;
    counts.message_bytes = std::max(counts.message_bytes, sum(counts.message_bytes, ops_[op].bytes));
    return true;
  }
  // The base leaves room below, for logs whose lines are not in order.
  if (stream.records.empty()) stream.base = std::max<std::int64_t>(0, sequence - highest_offset / 2);
  const auto offset = sequence - stream.base;
  if (offset < 0 || offset > highest_offset) return false;
  if (!is_time(enter)) enter = not_known;
  if (!is_time(end) && end != not_ended) end = not_known;
  stream.records.push_back({enter, end, static_cast<std::uint32_t>(offset), op});
  return true;
}

void LogBuilder::unread(const std::string& origin, std::size_t line, std::string_view why) {
  if (unread_lines_++ == 0) first_unread_ = fmt::format("{}:{}: {}", origin, line, why);
}

void LogBuilder::merge_equal_numbers(Stream& stream) {
  auto& records = stream.records;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    auto& into = records[kept];
    const auto& one = records[i];
    if (one.offset != into.offset) {
      records[++kept] = one;
      continue;
    }
    auto op = ops_[into.op];
    const auto& other = ops_[one.op];
    op.kind = op.kind == other.kind ? op.kind : Kind::other;
    op.bytes = sum(op.bytes, other.bytes);
    op.count = sum(op.count, other.count);
    op.shape = mix(op.shape, other.shape);
    if (op.dtype != other.dtype) op.dtype.clear();
    into.op = intern(op);
    into.enter =
        into.enter == not_known ? one.enter : std::min(into.enter, one.enter == not_known ? into.enter : one.enter);
    into.end = into.end == not_known || one.end == not_known ? not_known : std::max(into.end, one.end);
  }
  records.resize(kept + 1);
}

void LogBuilder::put_in_order(Stream& stream) {
  auto& records = stream.records;
  const auto less = [](const Record& a, const Record& b) { return a.offset < b.offset; };
  if (!std::is_sorted(records.begin(), records.end(), less)) std::stable_sort(records.begin(), records.end(), less);
  const auto equal = [](const Record& a, const Record& b) { return a.offset == b.offset; };
  if (std::adjacent_find(records.begin(), records.end(), equal) != records.end()) merge_equal_numbers(stream);
}

RankLog LogBuilder::rank_log(int rank, const CollectiveLog& log, const RankCounts& counts) const {
  RankLog out;
  out.rank = rank;
  out.messages = counts.messages;
  out.bytes = counts.message_bytes;
  out.origin = counts.origin;
  std::size_t most = 0;
  for (const auto& group : log.groups) {
    const auto at = std::lower_bound(group.streams.begin(), group.streams.end(), rank,
                                     [](const Stream& stream, int value) { return stream.rank < value; });
    if (at == group.streams.end() || at->rank != rank) continue;
    out.collectives += at->records.size();
    for (const auto& record : at->records) {
      const auto bytes = ops_[record.op].bytes;
      if (bytes == not_known) ++out.unsized;
      out.bytes = std::max(out.bytes, sum(out.bytes, bytes));
    }
    if (at->records.size() <= most) continue;
    most = at->records.size();
    out.first = at->first();
    out.last = at->last();
  }
  return out;
}

CollectiveLog LogBuilder::finish() {
  CollectiveLog log;
  std::map<std::string, Group> groups;
  for (auto& [key, open] : streams_) {
    auto& stream = open.stream;
    if (stream->records.empty()) continue;
    put_in_order(*stream);
    auto& group = groups[key.first];
    group.name = key.first;
    group.streams.push_back(std::move(*stream));
  }
  streams_.clear();
  std::vector<std::pair<std::size_t, std::string>> order;
  for (auto& [name, group] : groups) {
    std::size_t all = 0;
    for (const auto& stream : group.streams) all += stream.records.size();
    if (const auto size = group_sizes_.find(name); size != group_sizes_.end()) group.size = size->second;
    order.emplace_back(all, name);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [all, name] : order) log.groups.push_back(std::move(groups.at(name)));
  for (const auto& [rank, counts] : ranks_) {
    auto one = rank_log(rank, log, counts);
    if (one.collectives + one.messages > 0) log.ranks.push_back(std::move(one));
  }
  log.ops = std::move(ops_);
  log.world_size = world_size_;
  log.files = files_;
  log.unread_lines = unread_lines_;
  log.first_unread = first_unread_;
  log.notes = std::move(notes_);
  return log;
}

}  // namespace stepgauge::replay::detail
