// Pickles are programs. Wrong here, and a log file runs code, or takes the memory of the machine.
#include "replay/detail/pickle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"

namespace stepgauge::replay::detail {
namespace {

using ::testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const auto value : values) out += static_cast<char>(value);
  return out;
}

Json value(const std::string& text) {
  const Pickle pickle(text, "x.pkl", 10'000);
  std::size_t left = 10'000;
  return pickle.json(pickle.root(), left);
}

std::string complaint(const std::string& text, std::size_t most = 10'000) {
  try {
    const Pickle pickle(text, "x.pkl", most);
    auto left = most;
    pickle.json(pickle.root(), left);
  } catch (const ContractError& error) {
    return error.what();
  }
  return "";
}

const std::string proto2 = bytes({0x80, 2});

/// Of pickle.dumps() for protocols 2 to 5, in hexadecimal.
constexpr const char* dumps[] = {
    // protocol 2
    "80027d71002858010000006171015d7102284b014bff4dffff4affffffff8a060000000000018a060000000000ff8a080000"
    "000000000040655801000000627103284e8889473ff80000000000007471045801000000637105580300000078c3a9710658"
    "010000006471074b014b024b0386710829877109580100000065710a7d710b58010000006b710c5d710d7d710e6173752e",
    // protocol 3
    "80037d71002858010000006171015d7102284b014bff4dffff4affffffff8a060000000000018a060000000000ff8a080000"
    "000000000040655801000000627103284e8889473ff80000000000007471045801000000637105580300000078c3a9710658"
    "010000006471074b014b024b0386710829877109580100000065710a7d710b58010000006b710c5d710d7d710e6173752e",
    // protocol 4
    "8004956f000000000000007d94288c0161945d94284b014bff4dffff4affffffff8a060000000000018a060000000000ff8a"
    "080000000000000040658c016294284e8889473ff800000000000074948c0163948c0378c3a9948c0164944b014b024b0386"
    "942987948c0165947d948c016b945d947d946173752e",
    // protocol 5
    "8005956f000000000000007d94288c0161945d94284b014bff4dffff4affffffff8a060000000000018a060000000000ff8a"
    "080000000000000040658c016294284e8889473ff800000000000074948c0163948c0378c3a9948c0164944b014b024b0386"
    "942987948c0165947d948c016b945d947d946173752e",
};

std::string from_hex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return out;
}

TEST(Pickle, ReadsWhatPythonWritesInEveryProtocol) {
  const auto expected = Json::parse(
      R"({"a": [1, 255, 65535, -1, 1099511627776, -1099511627776, 4611686018427387904], "b": [null, true, false, 1.5],
          "c": "x\u00e9", "d": [1, [2, 3], []], "e": {"k": [{}]}})");
  for (const auto* dump : dumps) EXPECT_EQ(value(from_hex(dump)), expected) << dump;
}

TEST(Pickle, RefusesByNameWhatWouldRunCode) {
  EXPECT_THAT(complaint(proto2 + "cos\nsystem\n(X\x01"), HasSubstr("x.pkl: byte 2: the opcode GLOBAL is refused"));
  EXPECT_THAT(complaint(bytes({0x80, 4, 0x8c, 1, 'a', 0x8c, 1, 'b', 0x93, '.'})), HasSubstr("STACK_GLOBAL"));
  EXPECT_THAT(complaint(proto2 + "K" + bytes({1}) + ")R."), HasSubstr("REDUCE"));
  EXPECT_THAT(complaint(proto2 + "}}b."), HasSubstr("BUILD"));
  EXPECT_THAT(complaint(proto2 + "(ios\nsystem\n."), HasSubstr("INST"));
  EXPECT_THAT(complaint(proto2 + "(o."), HasSubstr("OBJ"));
  EXPECT_THAT(complaint(proto2 + ")" + bytes({0x81}) + "."), HasSubstr("NEWOBJ"));
  EXPECT_THAT(complaint(proto2 + bytes({0x82, 1}) + "."), HasSubstr("EXT1"));
  EXPECT_THAT(complaint(proto2 + "NQ."), HasSubstr("BINPERSID"));
  EXPECT_THAT(complaint(proto2 + "\xff."), HasSubstr("0xff is not one of plain data"));
}

TEST(Pickle, LengthsBeyondTheFileAreCutOff) {
  for (const auto& text : {proto2 + "X" + bytes({0xff, 0xff, 0xff, 0xff}) + "a",
                           bytes({0x80, 4, 0x8d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
                           bytes({0x80, 4, 0x8e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
                           proto2 + "J" + bytes({1}), proto2, std::string("\x80")}) {
    EXPECT_THAT(complaint(text), HasSubstr("cut off"));
  }
  EXPECT_THAT(complaint(proto2 + bytes({0x8b, 0xff, 0xff, 0xff, 0x7f}) + "."), HasSubstr("more than 64 bits"));
  EXPECT_THAT(complaint(bytes({0x80, 9, 'N', '.'})), HasSubstr("protocol 9"));
}

TEST(Pickle, BrokenStacksAreRefused) {
  for (const char* text :
       {".", "e.", "]K", "u.", "(K\x01u.", "}(K\x01u.", "]]K\x01s.", "h\x07.", "0.", "NN.", "a.", "t.", "Nq"}) {
    EXPECT_NE(complaint(proto2 + text), "") << text;
  }
  EXPECT_THAT(complaint(proto2 + "h" + bytes({7}) + "."), HasSubstr("the memo has no such entry"));
  EXPECT_THAT(complaint(proto2 + "}(K" + bytes({1}) + "u."), HasSubstr("in pairs"));
}

/// Each level holds the one below ten times: 10^20 values in 300 bytes.
TEST(Pickle, SharedValuesCannotBlowUp) {
  auto text = proto2 + "]q" + bytes({0});
  for (int level = 1; level < 20; ++level) {
    text += "](";
    for (int i = 0; i < 10; ++i) text += "h" + bytes({level - 1});
    text += "eq" + bytes({level});
  }
  EXPECT_THAT(complaint(proto2 + "(" + text.substr(2) + "t."), HasSubstr("too many when written out"));
}

TEST(Pickle, DepthCyclesAndNumbersOfValuesAreLimited) {
  std::string deep = proto2;
  for (int i = 0; i < 5'000; ++i) deep += "](";
  deep += "N";
  for (int i = 0; i < 5'000; ++i) deep += "e";
  EXPECT_THAT(complaint(deep + "."), HasSubstr("more than 32 levels"));
  EXPECT_THAT(complaint(proto2 + "]q" + bytes({0}) + "h" + bytes({0}) + "a."), HasSubstr("levels"))
      << "a list in itself";
  EXPECT_THAT(complaint(proto2 + "(" + std::string(5'000, 'N') + "t.", 1'000), HasSubstr("more than 1000 values"));
  EXPECT_THAT(complaint(proto2 + std::string(5'000, '('), 1'000), HasSubstr("stack is too large"));
}

TEST(Pickle, TheLastOfEqualKeysCounts) {
  const auto text = proto2 + "}(U" + bytes({1, 'a', 'K', 1, 'U', 1, 'a', 'K', 2}) + "u.";
  const Pickle pickle(text, "x.pkl", 100);
  ASSERT_NE(pickle.find(pickle.root(), "a"), nullptr);
  EXPECT_EQ(pickle.find(pickle.root(), "a")->integer, 2);
  EXPECT_EQ(pickle.find(pickle.root(), "b"), nullptr);
}

}  // namespace
}  // namespace stepgauge::replay::detail
