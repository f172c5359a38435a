#include "launch/log_sink.hpp"

#include <gmock/gmock.h>

#include "launch_support.hpp"

namespace stepgauge::launch {
namespace {

using test::slurp;
using test::TempFolder;

constexpr std::size_t part = LogSink::part_bytes;

std::string pattern(std::size_t bytes) {
  std::string out(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return out;
}

/// The file and the tail after writing `text` in pieces of `piece` bytes.
std::pair<std::string, std::string> keep(const std::string& text, std::size_t piece) {
  const TempFolder folder;
  LogSink sink(folder.path() / "log");
  for (std::size_t at = 0; at < text.size(); at += piece) sink.append(std::string_view(text).substr(at, piece));
  EXPECT_EQ(sink.total_bytes(), text.size());
  const auto tail = sink.tail();
  sink.finish();
  return {slurp(folder.path() / "log"), tail};
}

TEST(LogSink, KeepsEverythingThatFits) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, part - 1, part, part + 1, 2 * part - 1, 2 * part}) {
    const auto text = pattern(size);
    for (const std::size_t piece : {std::size_t{4097}, std::size_t{65536}, 3 * part}) {
      const auto [file, tail] = keep(text, piece);
      EXPECT_TRUE(file == text) << size << " bytes in pieces of " << piece;
      EXPECT_TRUE(tail == text.substr(size - std::min(size, part))) << size;
    }
  }
}

TEST(LogSink, DropsTheMiddleAndSaysHowMuch) {
  const auto text = pattern(2 * part + 1000);
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}, 3 * part}) {
    const auto [file, tail] = keep(text, piece);
    EXPECT_TRUE(file == text.substr(0, part) + "\n[stepgauge: 1000 bytes dropped here]\n" + text.substr(part + 1000));
    EXPECT_TRUE(tail == text.substr(part + 1000));
  }
}

TEST(LogSink, AFullDiskIsNotedAndHarmsNobody) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  LogSink sink("/dev/full");
  sink.append("hello");
  sink.append(pattern(3 * part));
  sink.finish();
  EXPECT_EQ(sink.write_error(), ENOSPC);
  EXPECT_EQ(sink.total_bytes(), 3 * part + 5);
}

TEST(LogSink, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(LogSink("/no/such/folder/log"), std::system_error);
}

}  // namespace
}  // namespace stepgauge::launch
