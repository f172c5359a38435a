#pragma once
// Writes trace files: Chrome trace JSON in the shape that Kineto writes, gzip, one event a line (docs/trace_file.md).
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "contract/json_io.hpp"

namespace stepgauge {

inline constexpr int trace_version = 1;

/// Times are ns of one monotonic clock; they are written as microseconds with three decimals after `base_ns`, so that
/// no digit is lost.
class TraceFileWriter {
 public:
  /// Creates `path` (gzip), under another name beside it until close(). `head`: the fields beside "traceEvents"
  /// (schemaVersion, deviceProperties, distributedInfo, stepgauge, ...); baseTimeNanoseconds is added. Throws
  /// std::system_error.
  TraceFileWriter(const std::string& path, std::int64_t base_ns, const Json& head);
  ~TraceFileWriter();  ///< without close(): nothing is left behind
  TraceFileWriter(const TraceFileWriter&) = delete;
  TraceFileWriter& operator=(const TraceFileWriter&) = delete;

  /// A complete event (ph "X"). `args_json`: the text of a JSON object, or empty.
  void complete(std::string_view category, std::string_view name, std::int64_t pid, std::int64_t tid,
                std::int64_t begin_ns, std::int64_t end_ns, std::string_view args_json = {});
  /// A counter (ph "C") with one series, named as the counter; a value that is not finite is left out.
  void counter(std::string_view name, std::int64_t pid, std::int64_t at_ns, double value);
  /// The arrow (ph "s"/"f", cat "ac2g") from a host call to what it launched.
  void flow(std::uint64_t id, std::int64_t from_pid, std::int64_t from_tid, std::int64_t from_ns, std::int64_t to_pid,
            std::int64_t to_tid, std::int64_t to_ns);
  /// Names and order of a process or thread in viewers (ph "M").
  void name_process(std::int64_t pid, std::string_view name, std::string_view labels, int sort_index);
  void name_thread(std::int64_t pid, std::int64_t tid, std::string_view name, int sort_index);

  /// Ends the document and syncs it; throws std::system_error when the disk did not take it all.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepgauge
