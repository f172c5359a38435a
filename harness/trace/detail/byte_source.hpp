#pragma once
// The text of a file that may be gzip, piece by piece.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stepgauge::trace::detail {

class ByteSource {
 public:
  /// Opens a regular file. Throws TraceError, naming what was `expected`, for anything else and for an empty file.
  explicit ByteSource(const std::string& path,
                      std::string_view expected = "a trace file (Chrome trace JSON, plain or gzip)");
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Up to `size` bytes of text; 0 only at the end. Throws TraceError for gzip data that are damaged, cut off or
  /// followed by something else.
  std::size_t read(char* into, std::size_t size);

  const std::string& path() const { return path_; }
  /// The text is inflated: its offsets are not the file's.
  bool gzip() const;

 private:
  struct State;
  std::string path_;
  std::unique_ptr<State> state_;
};

}  // namespace stepgauge::trace::detail
