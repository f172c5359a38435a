// Small parts: text, progress lines, /proc, the socket of the rendezvous.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "launch/listen_socket.hpp"
#include "launch/process_tree.hpp"
#include "launch/process_watch.hpp"
#include "launch/shared_memory.hpp"
#include "launch/text.hpp"
#include "launch_support.hpp"

namespace stepgauge::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[31m\t\r\n\x7f"), R"(\x1b[31m\t\r\x0a\x7f)");
  EXPECT_EQ(printable("\xc2\x9b"), R"(\xc2\x9b)") << "C1 control";
  EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)") << "surrogate";
  EXPECT_EQ(printable("\xe2\x82"), R"(\xe2\x82)") << "cut off";
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xe2\x82\xac", 3), "ab...") << "no character is cut";
}

TEST(LastLines, AreTheLastOnes) {
  EXPECT_THAT(last_lines("a\nb\nc\n", 2), ElementsAre("b", "c"));
  EXPECT_THAT(last_lines("a\r\n\n\n", 5), ElementsAre("a"));
  EXPECT_THAT(last_lines("a\n\nb", 5), ElementsAre("a", "", "b"));
  EXPECT_THAT(last_lines("", 5), IsEmpty());
  EXPECT_THAT(last_lines("\n\n", 5), IsEmpty());
  EXPECT_EQ(last_lines(std::string(100'000, 'x'), 5).at(0).size(), 403u);
}

TEST(ProgressParser, ReadsLinesHoweverTheyAreCut) {
  ProgressParser parser;
  EXPECT_FALSE(parser.feed("pha"));
  EXPECT_TRUE(parser.feed("se build\nst"));
  EXPECT_EQ(parser.phase(), "build");
  EXPECT_FALSE(parser.step());
  EXPECT_TRUE(parser.feed("ep 1\nstep 2\r\n"));
  EXPECT_EQ(parser.step(), 2);
}

TEST(ProgressParser, KeepsWhenEachPhaseBeganAndNotWithoutEnd) {
  ProgressParser parser;
  parser.feed("phase build\nphase wr", 1.5);
  parser.feed("ap\nstep 1\n", 2.5);
  ASSERT_EQ(parser.phases().size(), 2u);
  EXPECT_EQ(parser.phases()[0].phase, "build");
  EXPECT_EQ(parser.phases()[0].at_s, 1.5);
  EXPECT_EQ(parser.phases()[1].phase, "wrap");
  EXPECT_EQ(parser.phases()[1].at_s, 2.5);
  for (int i = 0; i < 1000; ++i) parser.feed("phase again\n", 3);
  EXPECT_EQ(parser.phases().size(), 64u);
}

TEST(ProgressParser, NonsenseChangesNothing) {
  ProgressParser parser;
  parser.feed("step 7\n");
  EXPECT_FALSE(parser.feed("step\nstep x\nstep -1\nstep 1.5\nstep 99999999999999999999\nhello\n\n"));
  EXPECT_EQ(parser.step(), 7);
  parser.feed("phase \x1b[31m\n");
  EXPECT_EQ(parser.phase(), R"(\x1b[31m)");
  EXPECT_FALSE(parser.feed(std::string(10'000'000, 'x')));
  EXPECT_TRUE(parser.feed("\nstep 8\n"));
  EXPECT_EQ(parser.step(), 8);
}

TEST(ProcessTree, ReadsStatWithAnyName) {
  const auto process = parse_stat("42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->id.pid, 42);
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->state, 'S');
  EXPECT_EQ(process->name, "a) b (c");
  EXPECT_EQ(process->id.start_ticks, 987654u);
  EXPECT_FALSE(parse_stat(""));
  EXPECT_FALSE(parse_stat("42 (a) S 7"));
}

TEST(ProcessTree, KnowsThisProcess) {
  const auto self = read_process(::getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_THAT(command_line(*self), HasSubstr("test_launch_parts"));
  EXPECT_FALSE(read_process(0));
}

TEST(ListenSocket, CanBeConnectedToAtOnceAndIsNobodyElses) {
  const auto socket = ListenSocket::open();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(socket.port);
  const machine::UniqueFd client(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const machine::UniqueFd thief(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_NE(::bind(thief.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

TEST(SharedMemory, OnlySegmentsOfThisLaunchThatNobodyUsesAreRemoved) {
  const test::TempFolder folder;
  const auto make = [&](const char* name) { std::ofstream(folder.path() / name) << std::string(4096, 'x'); };
  const auto there = [&](const char* name) { return std::filesystem::exists(folder.path() / name); };
  make("nccl-old");
  const SharedMemoryWatch watch(folder.path());
  EXPECT_THAT(watch.clean(), IsEmpty());
  make("nccl-new");
  make("nccl-used");
  make("other-new");
  const machine::UniqueFd file(::open((folder.path() / "nccl-used").c_str(), O_RDONLY));
  void* used = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(used, MAP_FAILED);
  const auto notes = watch.clean();
  ::munmap(used, 4096);
  EXPECT_FALSE(there("nccl-new"));
  EXPECT_TRUE(there("nccl-old") && there("nccl-used") && there("other-new"));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("nccl-new"));
  EXPECT_THAT(notes[1], HasSubstr("nccl-used"));
}

TEST(SharedMemory, ItsErrorIsExplained) {
  RankExit rank;
  rank.last_lines = {"fine"};
  EXPECT_THAT(shared_memory_hints({rank}), IsEmpty());
  rank.last_lines.push_back("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)");
  EXPECT_THAT(shared_memory_hints({rank}).at(0), HasSubstr("MiB free of"));
}

TEST(FindProgram, LooksInThePathGiven) {
  EXPECT_EQ(find_program("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(find_program("sh", "/nowhere"), "");
  EXPECT_EQ(find_program("./x", "/bin"), "./x");
}

}  // namespace
}  // namespace stepgauge::launch
