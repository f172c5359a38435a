#include "trace/detail/file_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stepgauge::trace::detail {
namespace {

constexpr int newest_version = 1;
constexpr std::int64_t most_ranks = 1'000'000;
constexpr std::int64_t farthest_ns = std::int64_t{1} << 61;
constexpr std::string_view where = "\"stepgauge\"";

/// A field of others: what is not of the expected type is as good as missing.
template <typename T>
std::optional<T> field(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return std::nullopt;
  } else if (!found->is_number_integer()) {
    return std::nullopt;
  }
  return found->template get<T>();
}

std::int64_t number_within(const Json& object, const char* key, std::int64_t least, std::int64_t most) {
  const auto value = require<std::int64_t>(object, key, where);
  if (value < least || value > most) {
    throw ContractError(fmt::format("{}: \"{}\": expected {} to {}, found {}", where, key, least, most, value));
  }
  return value;
}

bool host_timeline(const Json& object) {
  const auto text = require<std::string>(object, "timeline", where);
  if (text != "host" && text != "device") {
    throw ContractError(fmt::format("{}: \"timeline\": expected \"device\" or \"host\", found \"{}\"", where, text));
  }
  return text == "host";
}

/// The part that a file of one rank and an entry of "ranks" have in common.
RankHead own_rank(const Json& object, int world_size) {
  RankHead out;
  out.rank = static_cast<int>(number_within(object, "rank", 0, most_ranks));
  out.world_size = world_size;
  out.foreign = optional<bool>(object, "foreign", false, where);
  out.host_time = host_timeline(object);
  out.device_name = optional<std::string>(object, "device_name", "", where);
  out.dropped = optional<std::int64_t>(object, "dropped", 0, where);
  out.event_step_ms = optional<std::vector<double>>(object, "event_step_ms", {}, where);
  out.clock_shift = optional<std::int64_t>(object, "clock_shift_ns", 0, where);
  return out;
}

std::vector<MergedRank> merged_ranks(const Json& own, int world_size) {
  std::vector<MergedRank> out;
  for (const auto& entry : require<std::vector<Json>>(own, "ranks", where)) {
    const auto offset = number_within(entry, "pid_offset", 0, most_ranks * pids_per_rank);
    if (offset % pids_per_rank != 0) {
      throw ContractError(fmt::format("{}: \"pid_offset\": expected a multiple of {}", where, pids_per_rank));
    }
    out.push_back({offset, own_rank(entry, world_size)});
  }
  const auto twice = [&](auto same) {
    for (std::size_t i = 1; i < out.size(); ++i) {
      if (std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const auto& other) { return same(other, out[i]); })) {
        return true;
      }
    }
    return false;
  };
  if (twice([](const auto& a, const auto& b) { return a.head.rank == b.head.rank || a.pid_offset == b.pid_offset; })) {
    throw ContractError(fmt::format("{}: \"ranks\": a rank stands twice", where));
  }
  return out;
}

int world_size_of(const Json& own) {
  return static_cast<int>(number_within(own, "world_size", 1, most_ranks));
}

std::string name_of_device(const Json& devices, std::int64_t id) {
  std::string first;
  for (const auto& device : devices) {
    if (!device.is_object()) continue;
    auto name = field<std::string>(device, "name").value_or("");
    if (field<std::int64_t>(device, "id") == id) return name;
    if (first.empty()) first = name;
  }
  return first;
}

}  // namespace

bool FileHead::wants(std::string_view key) {
  static constexpr std::array<std::string_view, 4> keys{"stepgauge", "baseTimeNanoseconds", "distributedInfo",
                                                        "deviceProperties"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void FileHead::set(std::string_view key, Json value) {
  if (key == "distributedInfo") {
    if (value.is_object()) distributed_ = std::move(value);
  } else if (key == "deviceProperties") {
    if (value.is_array()) devices_ = std::move(value);
  } else if (key == "baseTimeNanoseconds") {
    if (!value.is_number_integer()) throw ContractError("\"baseTimeNanoseconds\": expected a whole number");
    base_ns_ = value.get<std::int64_t>();
    if (base_ns_ > farthest_ns || base_ns_ < -farthest_ns) {
      throw ContractError("\"baseTimeNanoseconds\": a time of more than 73 years");
    }
  } else {
    own_ = std::move(value);
    const auto version = number_within(own_, "trace_version", 1, std::numeric_limits<int>::max());
    if (version > newest_version) {
      throw ContractError(fmt::format("{}: \"trace_version\" {} is newer than this stepgauge reads ({})", where,
                                      version, newest_version));
    }
    if (own_.contains("ranks")) {
      merged_ = merged_ranks(own_, world_size_of(own_));
      if (merged_.empty()) throw ContractError(fmt::format("{}: \"ranks\" is empty", where));
    } else {
      own_rank(own_, world_size_of(own_));
    }
  }
}

RankHead FileHead::rank(std::int64_t device) const {
  RankHead out;
  if (!own_.empty()) {
    out = own_rank(own_, world_size_of(own_));
  } else {
    out.rank = field<int>(distributed_, "rank").value_or(0);
    out.world_size = field<int>(distributed_, "world_size");
  }
  if (out.device_name.empty()) out.device_name = name_of_device(devices_, device);
  return out;
}

}  // namespace stepgauge::trace::detail
