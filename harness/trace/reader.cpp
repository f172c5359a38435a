#include "trace/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "trace/detail/byte_source.hpp"
#include "trace/detail/file_head.hpp"
#include "trace/detail/json_pull.hpp"
#include "trace/detail/rank_builder.hpp"
#include "trace/detail/trace_event.hpp"

namespace stepgauge::trace {
namespace {

namespace fs = std::filesystem;
using detail::JsonPull;

/// Reads one file from its first byte to its last.
class TraceReading {
 public:
  TraceReading(const std::string& path, const ReadLimits& limits)
      : path_(path), limits_(limits), source_(path), in_(source_) {}

  std::vector<RankTimeline> run();
  std::size_t events() const { return count_; }

 private:
  void read_object();
  void read_field(std::string_view key);
  void read_events(bool bare);
  void read_one();
  detail::RankBuilder& builder();
  void set_head(const std::string& key);
  std::vector<RankTimeline> finish();

  std::string path_;
  ReadLimits limits_;
  detail::ByteSource source_;
  JsonPull in_;
  detail::FileHead head_;
  detail::TraceEvent event_;
  std::map<std::int64_t, detail::RankBuilder> builders_;  ///< by pid / pids_per_rank; a file of one rank has one, at 0
  std::size_t count_ = 0;
  bool has_events_ = false;
};

detail::RankBuilder& TraceReading::builder() {
  if (!head_.merged()) return builders_[0];
  const auto part = event_.pid / detail::pids_per_rank - (event_.pid % detail::pids_per_rank < 0);
  const auto found = builders_.find(part);
  if (found != builders_.end()) return found->second;
  in_.fail(fmt::format("event {}: \"pid\" {} belongs to none of the file's ranks", count_, event_.pid));
}

void TraceReading::read_one() {
  if (++count_ > limits_.events) {
    in_.fail(fmt::format("more than {} events; trace fewer steps", limits_.events));
  }
  if (in_.peek() == JsonPull::end_of_text) {
    in_.fail(fmt::format("the text is cut off before event {}; only a bare array of events may lack its end", count_));
  }
  if (in_.peek() != '{') in_.fail(fmt::format("event {}: expected an object, or the end of the events", count_));
  detail::read_event(in_, event_);
  if (const char* wrong = builder().add(event_)) in_.fail(fmt::format("event {}: {}", count_, wrong));
}

void TraceReading::read_events(bool bare) {
  if (has_events_) in_.fail("\"traceEvents\" stands twice");
  has_events_ = true;
  if (in_.peek() != '[') in_.fail("\"traceEvents\": expected an array of events");
  in_.lenient_array([this] { read_one(); }, bare);
}

void TraceReading::set_head(const std::string& key) {
  try {
    head_.set(key, in_.value());
  } catch (const ContractError& error) {
    in_.fail(error.what());
  }
  if (!head_.merged() || key != "stepgauge") return;
  // Without the head before them the events of several ranks cannot be told apart.
  if (has_events_) in_.fail("\"stepgauge\" of a merged file must stand before \"traceEvents\"");
  for (const auto& rank : head_.ranks()) builders_[rank.pid_offset / detail::pids_per_rank];
}

void TraceReading::read_field(std::string_view key) {
  if (key == "traceEvents") {
    read_events(false);
  } else if (detail::FileHead::wants(key)) {
    set_head(std::string(key));
  } else {
    in_.skip();
  }
}

void TraceReading::read_object() {
  in_.object([this](std::string_view key) { read_field(key); });
  if (!has_events_) throw TraceError(fmt::format("{}: no \"traceEvents\"; expected Chrome trace JSON", path_));
}

std::vector<RankTimeline> TraceReading::run() {
  const int first = in_.peek();
  if (first == JsonPull::end_of_text) in_.fail("there is no text; expected Chrome trace JSON");
  if (first == '{') {
    read_object();
  } else if (first == '[') {
    read_events(true);
  } else {
    in_.fail("not Chrome trace JSON: expected '{' or '['");
  }
  if (in_.peek() != JsonPull::end_of_text) in_.fail("other data follow the end of the JSON text");
  return finish();
}

std::vector<RankTimeline> TraceReading::finish() {
  std::vector<RankTimeline> out;
  if (head_.merged()) {
    for (const auto& rank : head_.ranks()) {
      out.push_back(builders_[rank.pid_offset / detail::pids_per_rank].finish(rank.head, head_.base_ns()));
    }
  } else {
    auto& only = builders_[0];
    out.push_back(only.finish(head_.rank(only.device()), head_.base_ns()));
  }
  for (auto& timeline : out) timeline.origin = path_;
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

bool is_trace_name(const std::string& name) {
  return name.ends_with(".trace.json.gz") || name.ends_with(".trace.json");
}

std::string expected_in(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder / "launches", ignored)) return "one of the folders in its launches/, not the whole run";
  return "rank<N>.trace.json.gz or merged.trace.json.gz, which launches leave that are asked for traces";
}

/// The traces of a folder: those of single ranks, or the merged file where there are none.
std::vector<fs::path> traces_in(const fs::path& folder) {
  std::vector<fs::path> ranks, merged;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    if (is_trace_name(name)) (name.starts_with("merged.") ? merged : ranks).push_back(entry.path());
  }
  if (error) throw TraceError(fmt::format("{}: cannot read the folder: {}", folder.string(), error.message()));
  auto& found = ranks.empty() ? merged : ranks;
  if (found.empty())
    throw TraceError(fmt::format("{}: no traces in this folder; expected {}", folder.string(), expected_in(folder)));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<RankTimeline> read_trace(const std::string& path, const ReadLimits& limits) {
  return TraceReading(path, limits).run();
}

std::vector<RankTimeline> read_launch_traces(const std::string& path, const ReadLimits& limits) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return read_trace(path, limits);
  std::vector<RankTimeline> out;
  auto left = limits;
  for (const auto& file : traces_in(path)) {
    TraceReading reading(file.string(), left);
    for (auto& timeline : reading.run()) out.push_back(std::move(timeline));
    left.events -= std::min(left.events, reading.events());
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i].rank == out[i - 1].rank) {
      throw TraceError(fmt::format("{} and {} are both of rank {}", out[i - 1].origin, out[i].origin, out[i].rank));
    }
  }
  return out;
}

}  // namespace stepgauge::trace
