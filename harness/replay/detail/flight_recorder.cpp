#include "replay/detail/flight_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "replay/detail/pickle.hpp"
#include "trace/detail/json_pull.hpp"
#include "trace/reader.hpp"

namespace stepgauge::replay::detail {
namespace {

constexpr int major_version = 2;  ///< 1 is read too: its entries have "seq_id"

/// Product of the numbers of every shape, summed up; not_known beyond 64 bits.
std::int64_t elements(const Json& shapes) {
  std::int64_t all = 0;
  for (const auto& shape : shapes) {
    std::int64_t one = 1;
    for (const auto& dim : shape) {
      const auto size = dim.get<std::int64_t>();
      if (size < 0 || __builtin_mul_overflow(one, size, &one)) return not_known;
    }
    if (__builtin_add_overflow(all, one, &all)) return not_known;
  }
  return all;
}

/// "[0, 1, 2]" -> 3; an empty list is not known: gloo writes one.
std::int64_t ranks_of(const Json& ranks) {
  if (ranks.is_array()) return static_cast<std::int64_t>(ranks.size());
  const auto text = ranks.is_string() ? ranks.get<std::string>() : "";
  if (text.find_first_of("0123456789") == std::string::npos) return 0;
  return 1 + std::count(text.begin(), text.end(), ',');
}

class Entries {
 public:
  Entries(const std::string& path, std::int64_t rank, LogBuilder& into) : path_(path), rank_(rank), into_(into) {}

  void version(const std::string& text) {
    int major = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), major);
    if (parsed.ec != std::errc() || major < 1 || major > major_version) {
      throw ContractError(
          fmt::format("{}: flight recorder version {}, this program reads 1.x and 2.x", path_, text.substr(0, 40)));
    }
  }
  void group(const std::string& name, const Json& config) {
    if (!config.is_object() || !config.contains("ranks")) return;
    if (const auto size = ranks_of(config.at("ranks")); size > 0) sizes_[name] = size;
  }
  void entry(const Json& entry) {
    ++number_;
    try {
      add(entry);
    } catch (const Json::exception& error) {
      into_.unread(path_, number_, fmt::format("entry {}: {}", number_, error.what()));
    }
  }
  /// Sizes come behind the entries in a JSON dump.
  void finish() {
    for (const auto& [name, size] : sizes_) {
      if (const auto key = names_.find(name); key != names_.end()) into_.group_size(key->second, size);
    }
  }

 private:
  void add(const Json& entry);
  std::string group_of(const Json& entry);

  const std::string& path_;
  std::int64_t rank_;
  LogBuilder& into_;
  std::size_t number_ = 0;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, std::string> names_;  ///< group as the dump names it -> as the log names it
};

/// Name and description; with neither (gloo) the number, since groups would be mixed up.
std::string Entries::group_of(const Json& entry) {
  std::string name, description;
  if (entry.contains("process_group")) {
    const auto& group = entry.at("process_group");
    name = group.is_array() && !group.empty() ? group.at(0).get<std::string>() : "";
    description = group.is_array() && group.size() > 1 ? group.at(1).get<std::string>() : "";
  }
  auto out = description.empty() || description == "undefined" ? name : fmt::format("{} ({})", name, description);
  if (out.empty()) out = fmt::format("group {}", entry.value("pg_id", std::int64_t{0}));
  names_.emplace(name, out);
  return out;
}

void Entries::add(const Json& entry) {
  const auto profiling_name = entry.at("profiling_name").get<std::string>();
  Op op;
  op.kind = kind_from(profiling_name);
  if (entry.value("is_p2p", false) && !point_to_point(op.kind)) op.kind = Kind::send;
  const auto& sizes = entry.at("input_sizes");
  op.count = op.kind == Kind::barrier ? 0 : elements(sizes);
  op.shape = op.kind == Kind::barrier ? 0 : shape_hash(sizes.dump());
  if (entry.contains("input_dtypes") && !entry.at("input_dtypes").empty()) {
    op.dtype = dtype_from(entry.at("input_dtypes").at(0).get<std::string>());
  }
  op.bytes = op.count == 0 ? 0 : not_known;
  const auto size = dtype_bytes(op.dtype);
  if (size > 0 && op.count != not_known && __builtin_mul_overflow(op.count, size, &op.bytes)) op.bytes = not_known;

  const auto time = [&](const char* key) {
    const bool there =
        entry.contains(key) && entry.at(key).is_number_integer() && entry.at(key).get<std::int64_t>() > 0;
    return there ? entry.at(key).get<std::int64_t>() : not_known;
  };
  auto end = time("time_discovered_completed_ns");
  // Gloo never says how far a collective is: what is not completed need not be open.
  const bool says_state = !profiling_name.starts_with("gloo:");
  if (end == not_known && says_state && entry.value("state", "") != "completed") end = not_ended;
  const auto sequence = entry.contains("collective_seq_id") ? entry.at("collective_seq_id") : entry.at("seq_id");
  auto& stream = into_.only_stream(rank_, group_of(entry), path_);
  if (!into_.add(stream, sequence.get<std::int64_t>(), into_.intern(op), time("time_created_ns"), end)) {
    into_.unread(path_, number_, fmt::format("entry {}: the sequence number is out of range", number_));
  }
}

}  // namespace

bool is_flight_recorder_json(std::string_view beginning) {
  if (!beginning.starts_with('{')) return false;
  constexpr std::array keys{"\"entries\"", "\"pg_config\"", "\"comm_lib_version\"", "\"nccl_version\""};
  return std::any_of(keys.begin(), keys.end(),
                     [&](const char* key) { return beginning.find(key) != std::string_view::npos; });
}

void read_flight_recorder_json(const std::string& path, std::int64_t rank, LogBuilder& into) {
  Entries entries(path, rank, into);
  bool found = false;
  try {
    trace::detail::ByteSource source(path);
    trace::detail::JsonPull pull(source);
    pull.object([&](std::string_view key) {
      if (key == "version") {
        entries.version(std::string(pull.scalar()));
      } else if (key == "pg_config") {
        const auto groups = pull.value();
        for (const auto& [name, config] : groups.items()) entries.group(name, config);
      } else if (key == "entries") {
        found = true;
        pull.array([&] { entries.entry(pull.value()); });
      } else {
        pull.skip();
      }
    });
  } catch (const trace::TraceError& error) {
    if (!found) throw ContractError(error.what());
    into.note(fmt::format("{}; what stands before it was read", error.what()));
  }
  if (!found) throw ContractError(path + ": the flight recorder's dump has no \"entries\"");
  entries.finish();
}

void read_flight_recorder_pickle(const std::string& path, std::int64_t rank, LogBuilder& into) {
  const auto text = read_text_file(path, into.limits().file_bytes);
  const Pickle pickle(text, path, into.limits().pickle_values);
  const auto* list = pickle.find(pickle.root(), "entries");
  if (list == nullptr || list->type != Pickle::Type::list) {
    throw ContractError(path + ": not a flight recorder's dump: \"entries\" is missing");
  }
  Entries entries(path, rank, into);
  const auto* version = pickle.find(pickle.root(), "version");
  if (version != nullptr && version->type == Pickle::Type::text) entries.version(std::string(version->text));
  auto left = into.limits().pickle_values;
  if (const auto* groups = pickle.find(pickle.root(), "pg_config"); groups != nullptr) {
    const auto config = pickle.json(*groups, left);
    for (const auto& [name, one] : config.items()) entries.group(name, one);
  }
  for (const auto index : list->items) entries.entry(pickle.json(pickle.at(index), left, "frames"));
  entries.finish();
}

}  // namespace stepgauge::replay::detail
