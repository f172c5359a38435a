#pragma once
// Files for the tests of the reader: folders of a test's own, gzip, events as text.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "../support/temporary_folder.hpp"
#include "trace/reader.hpp"

namespace stepgauge::trace::test {

class TraceFolder : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view bytes) const {
    return temporary.write(name, bytes).string();
  }

  RankTimeline read(std::string_view text) const { return read_trace(write("t.json", text)).at(0); }

  /// what() of the error that the text is refused with; "" when it is read.
  std::string refusal(std::string_view bytes, const ReadLimits& limits = {}) const {
    const auto path = write("bad.json", bytes);
    try {
      read_trace(path, limits);
    } catch (const TraceError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      EXPECT_LT(std::string(error.what()).size(), path.size() + 300);
      return error.what();
    }
    return "";
  }

  stepgauge::test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
};

inline std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A complete event, times in us as they shall stand in the text.
inline std::string event(std::string_view category, std::string_view name, std::string_view ts, std::string_view dur,
                         std::string_view args = "{}", int tid = 7, std::int64_t pid = 0) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})", category,
                     name, pid, tid, ts, dur, args);
}

inline std::string document(std::string_view events, std::string_view head = "") {
  return fmt::format("{{{}\"traceEvents\":[{}]}}", head, events);
}

}  // namespace stepgauge::trace::test
