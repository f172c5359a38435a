#pragma once
// Lines of a file of any length, plain or gzip, through a buffer of fixed size.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trace/detail/byte_source.hpp"

namespace stepgauge::replay::detail {

class LineReader {
 public:
  static constexpr std::size_t longest_line = 256u << 10;

  /// Opens a regular file. Throws trace::TraceError for anything else and for an empty file.
  explicit LineReader(const std::string& path);

  /// The next line without its end, valid until the next call; false at the end of the file. What is longer than the
  /// longest line is cut there, and the rest of it passed over.
  bool next(std::string_view& line);

  const std::string& path() const { return source_.path(); }
  std::size_t number() const { return number_; }  ///< of the last line, from 1
  bool whole() const { return whole_; }           ///< the last line had an end and was not cut
  /// The first bytes of the file; before the first next().
  std::string_view beginning();

 private:
  bool refill();
  void pass_over_rest();

  trace::detail::ByteSource source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t number_ = 0;
  bool whole_ = true, at_end_ = false, pass_over_ = false;
};

}  // namespace stepgauge::replay::detail
