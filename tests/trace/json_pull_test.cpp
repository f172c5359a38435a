// The tokenizer alone: every answer must be the same however the text is cut into windows.
#include "trace/detail/json_pull.hpp"

#include "trace_files.hpp"

namespace stepgauge::trace::detail {
namespace {

using test::gzip;

class Pull : public test::TraceFolder {
 protected:
  Json parse(std::string_view text, std::size_t window = 256u << 10) const {
    ByteSource source(write("t.json", text));
    JsonPull in(source, window);
    auto out = in.value();
    EXPECT_EQ(in.peek(), JsonPull::end_of_text);
    EXPECT_EQ(in.offset(), text.size());
    return out;
  }
  std::string fails(std::string_view text, bool skip = false, std::size_t window = 256u << 10) const {
    ByteSource source(write("t.json", text));
    JsonPull in(source, window);
    try {
      skip ? in.skip() : static_cast<void>(in.value());
    } catch (const TraceError& error) {
      return error.what();
    }
    return "";
  }
};

const char* const valid[] = {
    R"({"a":1,"b":[true,false,null,-1.5e3,12345678901234567890],"c":{"d":{}},"e":[]})",
    R"("plain")",
    R"("\"\\\/\b\f\n\r\t \u00e9 é \ud834\udd1e 𝄞 \u00E9")",
    R"(  [ 1 , "two" , { "k" : "v" } ]
)",
    R"({"":"","a long key that crosses many windows":"a long value that crosses many windows too"})",
    "0",
    "-0.0",
};

TEST_F(Pull, AgreesWithNlohmannInEveryWindow) {
  for (const auto* text : valid) {
    for (std::size_t window : {1, 2, 3, 5, 7, 16, 1000}) {
      EXPECT_EQ(parse(text, window), Json::parse(text)) << text << " in windows of " << window;
    }
  }
}

TEST_F(Pull, SkipsWhatItReads) {
  for (const auto* text : valid) {
    for (std::size_t window : {1, 3, 1000}) {
      ByteSource source(write("t.json", text));
      JsonPull in(source, window);
      in.skip();
      EXPECT_EQ(in.peek(), JsonPull::end_of_text) << text;
    }
  }
}

TEST_F(Pull, HalvesOfSurrogatePairsStandForNothing) {
  EXPECT_EQ(parse(R"("\ud834x")"), "\xef\xbf\xbdx");
  EXPECT_EQ(parse(R"("\ud834\n")"), "\xef\xbf\xbd\n");
  EXPECT_EQ(parse(R"("\ud834\ud834\udd1e")").get<std::string>().substr(0, 3), "\xef\xbf\xbd");
  EXPECT_EQ(parse(R"("\udd1e")"), "\xef\xbf\xbd");
}

TEST_F(Pull, TakesWhatIsNotFiniteAsNothing) {
  // Kineto's args held them; only a time must be a number.
  for (const auto* text : {"NaN", "-Infinity", "nan", "inf"}) EXPECT_EQ(parse(text), nullptr);
}

TEST_F(Pull, RefusesWhatIsNotJson) {
  for (const auto* text : {"{", "[", "[1", "[1,", "{\"a\"", "{\"a\":", "{\"a\":1", "\"a", "\"\\", "\"\\u12"}) {
    EXPECT_NE(fails(text).find("cut off"), std::string::npos) << text << ": " << fails(text);
    EXPECT_NE(fails(text, true, 1).find("cut off"), std::string::npos) << text;
  }
  for (const auto* text : {"{a:1}", "[1 2]", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "[1,]", "{\"a\":1,}", "]", "tru", "nul",
                           "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "@", "[1}", "- 1", "<html>"}) {
    EXPECT_NE(fails(text).find("not JSON"), std::string::npos) << text << ": " << fails(text);
    EXPECT_NE(fails(text, true, 1).find("not JSON"), std::string::npos) << text << ": " << fails(text, true, 1);
  }
  EXPECT_NE(fails(std::string_view("[\0]", 3)).find("byte 0x00"), std::string::npos);
  EXPECT_NE(fails("[1, 01]").find("not JSON"), std::string::npos);
}

TEST_F(Pull, NamesThePlace) {
  EXPECT_NE(fails("[1,\n2,\n  x!]").find("t.json: at byte 10: "), std::string::npos) << fails("[1,\n2,\n  x!]");
}

TEST_F(Pull, BoundsWhatOneTokenMayTake) {
  EXPECT_NE(fails(std::string(300, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(fails("\"" + std::string(20u << 20, 'a')).find("a string of more than"), std::string::npos);
  EXPECT_NE(fails(std::string(20u << 20, '1')).find("a word of more than"), std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  EXPECT_NE(fails(many + "]").find("too large"), std::string::npos);
  EXPECT_EQ(fails(many + "]", true), "");
}

TEST_F(Pull, ReadsGzipOfSeveralMembers) {
  ByteSource source(write("t.gz", gzip("[1,") + gzip("") + gzip("2]")));
  JsonPull in(source, 2);
  EXPECT_EQ(in.value(), Json({1, 2}));
  EXPECT_EQ(in.peek(), JsonPull::end_of_text);
}

}  // namespace
}  // namespace stepgauge::trace::detail
