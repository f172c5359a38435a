#pragma once
// A rank's output: a file of bounded size, whatever the rank prints.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "machine/unique_fd.hpp"

namespace stepgauge::launch {

/// Keeps the first 256 KiB, written as they come, and the last 256 KiB, written by finish(); between them one line
/// says how many bytes were dropped. Costs one copy a byte and no more memory than the ring.
class LogSink {
 public:
  static constexpr std::size_t part_bytes = 256u << 10;

  /// Creates or empties the file; throws std::system_error.
  explicit LogSink(const std::filesystem::path& path);

  void append(std::string_view bytes);

  /// Writes what is held back. Call once, at the end.
  void finish() noexcept;

  /// The last bytes, at most `part_bytes`.
  std::string tail() const;

  std::uint64_t total_bytes() const { return total_; }
  std::uint64_t dropped_bytes() const;
  int write_error() const { return write_error_; }  ///< errno of the first write that failed, else 0

 private:
  void write_out(std::string_view bytes) noexcept;

  machine::UniqueFd file_;
  std::string ring_;  ///< byte i of the output stands at i % part_bytes
  std::uint64_t total_ = 0;
  int write_error_ = 0;
};

}  // namespace stepgauge::launch
