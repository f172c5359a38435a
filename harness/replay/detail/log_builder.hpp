#pragma once
// Collects what the readers of all formats find, and puts it in order.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "replay/collective_log.hpp"
#include "replay/reader.hpp"

namespace stepgauge::replay::detail {

class LogBuilder {
 public:
  explicit LogBuilder(const ReadLimits& limits) : limits_(limits) {}

  const ReadLimits& limits() const { return limits_; }

  /// The rank's collectives in that group; valid as long as the builder. Throws ContractError for a rank that no
  /// machine has.
  Stream& stream(std::int64_t rank, const std::string& group, const std::string& origin);
  /// The same for a format that keeps a rank in one file: throws ContractError when another file had it already.
  Stream& only_stream(std::int64_t rank, const std::string& group, const std::string& origin);
  std::uint32_t intern(const Op& op);
  const Op& op(std::uint32_t index) const { return ops_[index]; }

  /// false when the sequence number is out of range. send and recv are counted only. Throws ContractError beyond the
  /// limit of records.
  bool add(Stream& stream, std::int64_t sequence, std::uint32_t op, std::int64_t enter, std::int64_t end);

  void world_size(std::int64_t ranks) { world_size_ = std::max(world_size_, ranks); }
  void group_size(const std::string& group, std::int64_t ranks) { group_sizes_[group] = ranks; }
  /// A line that looks like a collective's and cannot be understood.
  void unread(const std::string& origin, std::size_t line, std::string_view why);
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// Collectives and messages so far.
  std::size_t records() const { return records_; }
  void count_file() { ++files_; }

  /// Sorts; a sequence number that stands twice (the calls of a coalesced group) becomes one collective of all its
  /// bytes.
  CollectiveLog finish();

 private:
  struct RankCounts {
    std::size_t messages = 0;
    std::int64_t message_bytes = 0;
    std::string origin;
  };
  void put_in_order(Stream& stream);
  void merge_equal_numbers(Stream& stream);
  RankLog rank_log(int rank, const CollectiveLog& log, const RankCounts& counts) const;

  ReadLimits limits_;
  std::vector<Op> ops_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> op_index_;
  struct Open {
    std::unique_ptr<Stream> stream;
    std::string origin;
  };
  Open& open(std::int64_t rank, const std::string& group, const std::string& origin);

  std::map<std::pair<std::string, int>, Open> streams_;
  std::map<int, RankCounts> ranks_;
  std::map<std::string, std::int64_t> group_sizes_;
  std::int64_t world_size_ = 0;
  std::size_t records_ = 0, files_ = 0, unread_lines_ = 0;
  std::string first_unread_;
  std::vector<std::string> notes_;
};

/// Of a shape's numbers as they are written; never 0.
std::uint64_t shape_hash(std::string_view text);

}  // namespace stepgauge::replay::detail
