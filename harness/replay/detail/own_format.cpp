#include "replay/detail/own_format.hpp"

#include <fmt/format.h>

#include <charconv>

#include "contract/json_io.hpp"

namespace stepgauge::replay::detail {
namespace {

constexpr std::size_t longest_record = 4096;

/// The parts of one line; texts point into it.
struct Fields {
  std::int64_t sequence = 0, bytes = not_known, enter = not_known, end = not_known, count = not_known;
  std::uint64_t shape = 0;
  std::string_view kind, call_site, dtype, group;
};

/// The compact form that writers use: no spaces, no escapes. Everything else goes through the JSON parser.
class Compact {
 public:
  explicit Compact(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char expected) {
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }
  template <typename Number>
  bool number(Number& out) {
    const auto [next, error] = std::from_chars(at_, end_, out);
    if (error != std::errc() || next == at_ || (next != end_ && (*next == '.' || *next == 'e' || *next == 'E'))) {
      return false;
    }
    at_ = next;
    return true;
  }
  bool text(std::string_view& out) {
    if (!take('"')) return false;
    const auto* begin = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
    out = {begin, static_cast<std::size_t>(at_ - begin)};
    return take('"');
  }
  /// null keeps what `out` has.
  bool number_or_null(std::int64_t& out) { return null() || number(out); }
  bool text_or_null(std::string_view& out) { return null() || text(out); }
  bool null() {
    if (end_ - at_ < 4 || std::string_view(at_, 4) != "null") return false;
    at_ += 4;
    return true;
  }
  bool at_end() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

bool read_compact(std::string_view line, std::int64_t without_end, Fields& out) {
  Compact in(line);
  out.end = without_end;
  if (!(in.take('[') && in.number(out.sequence) && in.take(',') && in.text(out.kind) && in.take(',') &&
        in.number_or_null(out.bytes) && in.take(',') && (in.null() || in.number(out.shape)) && in.take(',') &&
        in.text_or_null(out.call_site) && in.take(',') && in.number_or_null(out.enter) && in.take(',') &&
        in.number_or_null(out.end))) {
    return false;
  }
  while (in.take(' ')) {  // room that a writer left for an end that came late
  }
  if (in.take(']')) return in.at_end();
  if (!(in.take(',') && in.text_or_null(out.dtype) && in.take(',') && in.number_or_null(out.count))) return false;
  if (in.take(',') && !in.text_or_null(out.group)) return false;
  return in.take(']') && in.at_end();
}

std::int64_t integer(const Json& value, std::int64_t otherwise) {
  return value.is_null() ? otherwise : value.get<std::int64_t>();
}

/// `holds` keeps the texts. Throws Json::exception, or ContractError for another number of fields.
void read_json(std::string_view line, std::int64_t without_end, Json& holds, Fields& out) {
  holds = Json::parse(line);
  const Json& all = holds;
  if (!all.is_array() || all.size() < 7 || all.size() > 10 || all.size() == 8) {
    throw ContractError("expected [seq, kind, bytes, shape_hash, call_site, enter_ns, end_ns, dtype, count, group]");
  }
  const auto text = [&](std::size_t i) {
    return i >= all.size() || all.at(i).is_null() ? std::string_view() : all.at(i).get_ref<const std::string&>();
  };
  for (const std::size_t i : {0u, 2u, 3u, 5u, 6u}) {
    if (!all.at(i).is_number_integer() && !(i > 0 && all.at(i).is_null()))
      throw ContractError("expected whole numbers");
  }
  out.sequence = all.at(0).get<std::int64_t>();
  out.kind = text(1);
  out.bytes = integer(all.at(2), not_known);
  out.shape = all.at(3).is_null() ? 0 : all.at(3).get<std::uint64_t>();
  out.call_site = text(4);
  out.enter = integer(all.at(5), not_known);
  out.end = integer(all.at(6), without_end);
  out.dtype = text(7);
  out.count = all.size() > 8 ? integer(all.at(8), not_known) : not_known;
  out.group = text(9);
}

class OwnReader {
 public:
  OwnReader(LineReader& lines, LogBuilder& into) : lines_(lines), into_(into) {}

  void read() {
    for (std::string_view line; lines_.next(line);) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (line.front() == '{') {
        header(line);
      } else if (rank_ >= 0) {
        record(line);
      } else if (!refused_) {
        into_.unread(lines_.path(), lines_.number(), "no header of a rank stands before it");
      }
    }
  }

 private:
  void header(std::string_view line);
  void record(std::string_view line);
  void add(const Fields& fields);
  std::int64_t shifted(std::int64_t time) const {
    std::int64_t out = 0;
    if (time == not_known || time == not_ended || __builtin_add_overflow(time, base_, &out)) return time;
    return out;
  }

  LineReader& lines_;
  LogBuilder& into_;
  std::int64_t rank_ = -1, base_ = 0;
  std::int64_t without_end_ = not_ended;  ///< what null says of an end
  bool device_ = false;                   ///< the times are a device's
  bool refused_ = false;                  ///< the header was, so its lines are not complained about one by one
  std::string group_;
  Stream* stream_ = nullptr;
  Op op_;
};

void OwnReader::header(std::string_view line) {
  rank_ = -1;
  refused_ = true;
  stream_ = nullptr;
  const auto where = fmt::format("{}:{}", lines_.path(), lines_.number());
  try {
    const auto head = parse_json(line.substr(0, longest_record), where);
    if (optional<std::string>(head, "schema", "", where) != own_schema) {
      throw ContractError(fmt::format("{}: expected the schema \"{}\"", where, own_schema));
    }
    const auto version = require<std::int64_t>(head, "version", where);
    if (version < 1 || version > own_version) {
      throw ContractError(
          fmt::format("{}: collective log version {}, this program reads up to {}", where, version, own_version));
    }
    const auto rank = require<std::int64_t>(head, "rank", where);
    const auto world_size = require<std::int64_t>(head, "world_size", where);
    if (rank < 0 || rank >= world_size) {
      throw ContractError(fmt::format("{}: rank {} of {} ranks", where, rank, world_size));
    }
    base_ = optional<std::int64_t>(head, "base_ns", 0, where);
    const auto ends = optional<std::string>(head, "ends", "host", where);
    without_end_ = ends == "unknown" ? not_known : not_ended;
    device_ = ends == "device";
    into_.world_size(world_size);
    rank_ = rank;
    refused_ = false;
  } catch (const ContractError& error) {
    into_.note(error.what());
  }
}

void OwnReader::add(const Fields& fields) {
  for (const auto size : {fields.bytes, fields.count}) {
    if (size < 0 && size != not_known) return into_.unread(lines_.path(), lines_.number(), "a size below 0");
  }
  if (stream_ == nullptr || fields.group != group_) {
    group_ = fields.group;
    stream_ = &into_.only_stream(rank_, group_, lines_.path());
  }
  op_.kind = kind_from(fields.kind);
  op_.bytes = fields.bytes;
  op_.count = fields.count;
  op_.shape = fields.shape;
  op_.dtype = fields.dtype;
  op_.call_site = fields.call_site;
  const auto enter = device_ && fields.end == not_ended ? not_known : shifted(fields.enter);  // the host's time yet
  if (!into_.add(*stream_, fields.sequence, into_.intern(op_), enter, shifted(fields.end))) {
    into_.unread(lines_.path(), lines_.number(), "the sequence number is out of range");
  }
}

void OwnReader::record(std::string_view line) {
  Fields fields;
  if (read_compact(line, without_end_, fields)) return add(fields);
  if (!lines_.whole()) {
    into_.note(fmt::format("{}:{}: the line is cut off, the log goes no further", lines_.path(), lines_.number()));
    return;
  }
  try {
    Json holds;
    fields = {};
    read_json(line.substr(0, longest_record), without_end_, holds, fields);
    add(fields);
  } catch (const Json::exception&) {
    into_.unread(lines_.path(), lines_.number(), "not a JSON array of a collective");
  } catch (const ContractError& error) {
    if (into_.records() > into_.limits().records) throw;
    into_.unread(lines_.path(), lines_.number(), error.what());
  }
}

}  // namespace

void read_own_format(LineReader& lines, LogBuilder& into) {
  OwnReader(lines, into).read();
}

}  // namespace stepgauge::replay::detail
