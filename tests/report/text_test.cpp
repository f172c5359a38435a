// The small parts: numbers, text of others, names. A control character from a log must never reach the terminal.
#include <gtest/gtest.h>
#include <locale.h>

#include "report/detail/cell_names.hpp"
#include "report/detail/escape.hpp"
#include "report/detail/number.hpp"
#include "report/detail/table.hpp"

namespace stepgauge::report::detail {
namespace {

TEST(Number, FourSignificantDigits) {
  EXPECT_EQ(four_digits(0.0), "0");
  EXPECT_EQ(four_digits(1.0), "1.000");
  EXPECT_EQ(four_digits(12.345), "12.35");
  EXPECT_EQ(four_digits(123.45), "123.5");
  EXPECT_EQ(four_digits(1234.5), "1234");
  EXPECT_EQ(four_digits(123456.0), "123456");
  EXPECT_EQ(four_digits(0.0123456), "0.01235");
  EXPECT_EQ(four_digits(-2.5), "-2.500");
  EXPECT_EQ(four_digits(1.8e-6), "1.800e-06");
  EXPECT_EQ(four_digits(std::nullopt), "-");
}

TEST(Number, Percent) {
  EXPECT_EQ(signed_percent(0.1681), "+16.8");
  EXPECT_EQ(signed_percent(-0.3333), "-33.3");
  EXPECT_EQ(signed_percent(0.00254), "+0.25");
  EXPECT_EQ(signed_percent(-0.00001), "0.00");
  EXPECT_EQ(signed_percent(2.5), "+250");
  EXPECT_EQ(percent(0.02), "2");
  EXPECT_EQ(percent(0.104), "10.4");
  EXPECT_EQ(percent(std::nullopt), "-");
}

TEST(Number, NoLocale) {
  const char* german = ::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(four_digits(4.97), "4.970") << (german == nullptr ? "locale not installed" : german);
  ::setlocale(LC_ALL, "C");
}

TEST(Escape, NothingActsOnTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a?[31mb");
  EXPECT_EQ(printable("a\nb\tc\r"), "a b c ");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");  // C1 CSI
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "?x");                                                // right-to-left override
  EXPECT_EQ(printable("n\xc3\xbc\xff\xc0\xaf"), "n\xc3\xbc???");  // valid, then broken bytes
  EXPECT_EQ(printable(std::string("\0x", 2)), "?x");
}

TEST(Escape, NothingActsInMarkdown) {
  EXPECT_EQ(markdown("a|b <img> `c` *d* [e](f)"), "a\\|b &lt;img&gt; \\`c\\` \\*d\\* \\[e\\](f)");
}

TEST(Escape, ShorteningKeepsTheEnd) {
  EXPECT_EQ(shorten_middle("short", 10, 3), "short");
  const auto out = shorten_middle("resnet50.b256/eager/bf16/cuda.ddp2-1a2b3c4d", 24, 9);
  EXPECT_EQ(columns(out), 24u);
  EXPECT_EQ(out.substr(out.size() - 9), "-1a2b3c4d");
  EXPECT_EQ(out.rfind("resnet50", 0), 0u);
  EXPECT_EQ(columns(shorten_middle("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 6, 2)), 6u);
}

TEST(Escape, WrapStaysInside) {
  const auto out = wrap("  " + std::string(300, 'x') + " and some more words that go on", 40, 4);
  std::size_t begin = 0;
  while (begin < out.size()) {
    const auto end = std::min(out.find('\n', begin), out.size());
    EXPECT_LE(end - begin, 40u) << out;
    begin = end + 1;
  }
}

TEST(Names, SharedPartsAreSaidOnce) {
  const auto out = cell_names({"resnet50.b256/eager/bf16/cuda.ddp1/channels_last-11111111",
                               "resnet50.b256/eager/fp32/cuda.ddp2/channels_last-22222222"},
                              40);
  EXPECT_EQ(out.common, "eager channels_last");
  EXPECT_EQ(out.names[0], "resnet50.b256/bf16/cuda.ddp1-11111111");
  EXPECT_EQ(cell_names({"a/b-1", "a/b-2"}, 40).common, "");  // they fit
}

TEST(Tables, NeverWiderThanTheStyle) {
  Table table({{"cell", true}, {"x"}, {"status", true}});
  table.add({std::string(200, 'a') + "-12345678", "1.5", "ok"}, Color::green);
  const auto text = table.text({false, 60});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("-12345678"), std::string::npos);
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    EXPECT_LE(text.find('\n', begin) - begin, 60u);
  }
  EXPECT_NE(table.text({true, 60}).find("\x1b[32mok\x1b[0m"), std::string::npos);
}

}  // namespace
}  // namespace stepgauge::report::detail
