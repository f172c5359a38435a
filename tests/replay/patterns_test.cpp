// What is found in a run. Wrong here, and a person restarts the wrong machine.
#include "replay/patterns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs.hpp"
#include "replay/plan.hpp"

namespace stepgauge::replay {
namespace {

using test::Call;
using test::ms;
using test::run_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The one pattern of a run.
Pattern only(const CollectiveLog& log, const PatternSettings& settings = {}) {
  const auto found = find_patterns(log, clocks(log), settings).patterns;
  EXPECT_EQ(found.size(), 1u);
  for (std::size_t i = 1; i < found.size(); ++i) ADD_FAILURE() << found[i].text;
  return found.empty() ? Pattern{} : found.front();
}

TEST(Patterns, AHealthyRunHasNone) {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const int calls : {1, 2, 3, 57}) {
      const auto shown = view({"logs"}, run_of(ranks, calls));
      EXPECT_TRUE(shown.healthy()) << ranks << " ranks, " << calls << " calls: " << shown.patterns.front().text;
      EXPECT_THAT(shown.notes, IsEmpty());
    }
  }
}

TEST(Patterns, ASilentRankAndWhoWaitsWhere) {
  const auto found = only(run_of(8, 43, [](int rank, Call& call) {
    if (call.sequence == 42) call.end = not_ended;
    return rank != 3 || call.sequence < 42;
  }));
  EXPECT_EQ(found.kind, PatternKind::silent);
  EXPECT_THAT(found.ranks, ElementsAre(3));
  EXPECT_EQ(found.sequence, 42);
  EXPECT_EQ(found.text, "rank 3 is silent: its last collective is 41 (all_reduce, 1.0 MiB); 7 ranks wait in 42");
}

TEST(Patterns, ALogThatIsCutShortIsNoSilentRank) {
  const auto log = run_of(4, 43, [](int rank, Call& call) { return rank != 3 || call.sequence < 30; });
  const auto found = find_patterns(log, clocks(log));
  EXPECT_THAT(found.patterns, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("the log of rank 3 ends before the others'")));
}

TEST(Patterns, ARankWithoutALogIsNamedWhenOthersWait) {
  const test::Folder folder;
  for (const int rank : {0, 1, 3}) {
    folder.write("rank" + std::to_string(rank), test::rank_log(rank, 4, 12, [](int, Call& call) {
                   if (call.sequence == 11) call.end = not_ended;
                   return true;
                 }));
  }
  const auto found = only(folder.read());
  EXPECT_EQ(found.kind, PatternKind::silent);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_EQ(found.text, "rank 2 left no log; 3 ranks wait in 11 (all_reduce, 1.0 MiB)");
}

TEST(Patterns, EveryRankStuckInOneCollective) {
  const auto found = only(run_of(4, 20, [](int, Call& call) {
    if (call.sequence == 19) call.end = not_ended;
    return true;
  }));
  EXPECT_EQ(found.kind, PatternKind::stuck);
  EXPECT_EQ(found.text, "all 4 ranks are stuck in 19 (barrier): every one entered it, none came out");
}

TEST(Patterns, AMismatchNamesTheOddRankAndWhatItRuns) {
  const auto found = only(run_of(5, 30, [](int rank, Call& call) {
    if (rank == 4 && call.sequence == 21) call.bytes = 512;
    return true;
  }));
  EXPECT_EQ(found.kind, PatternKind::mismatch);
  EXPECT_THAT(found.ranks, ElementsAre(4));
  EXPECT_EQ(found.text, "rank 4 runs all_reduce of 512 B instead of 1.0 MiB at 21");
  const auto kind = only(run_of(3, 30, [](int rank, Call& call) {
    if (rank == 0 && call.sequence == 20) call.kind = "broadcast";
    return true;
  }));
  EXPECT_THAT(kind.ranks, ElementsAre(0)) << "the majority is right, whatever its rank";
  EXPECT_EQ(kind.text, "rank 0 runs broadcast, 4.0 KiB instead of all_reduce, 4.0 KiB at 20");
  const auto dtype = only(run_of(3, 30, [](int rank, Call& call) {
    if (rank == 1 && call.sequence == 20) call.dtype = "int32";
    return true;
  }));
  EXPECT_EQ(dtype.text, "rank 1 runs all_reduce of int32 instead of float32 at 20");
}

TEST(Patterns, OfTwoRanksNobodyKnowsWhichIsRight) {
  const auto found = only(run_of(2, 30, [](int rank, Call& call) {
    if (rank == 1 && call.sequence == 21) call.bytes = 512;
    return true;
  }));
  EXPECT_EQ(found.kind, PatternKind::mismatch);
  EXPECT_THAT(found.ranks, IsEmpty());
  EXPECT_THAT(found.text, HasSubstr("no majority"));
}

TEST(Patterns, WhatWentWrongFirstComesFirst) {
  const auto log = run_of(2, 43, [](int rank, Call& call) {
    if (rank == 0 && call.sequence == 20) call.bytes *= 2;
    if (call.sequence == 42) call.end = not_ended;
    return rank == 1 || call.sequence < 42;
  });
  const auto found = find_patterns(log, clocks(log)).patterns;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, PatternKind::mismatch);
  EXPECT_EQ(found[1].kind, PatternKind::silent) << "a rank is silent because another call went wrong before";
}

TEST(Patterns, ASkippedCollectiveIsOneFindingNotHundreds) {
  const auto skip = [](int who, int at) {
    return [who, at](int rank, Call& call) {
      if (rank != who || call.sequence < at) return true;
      if (call.sequence == at) return false;
      --call.sequence;  // the rank does not know that it skipped one
      return true;
    };
  };
  const auto found = only(run_of(4, 1000, skip(2, 500)));
  EXPECT_EQ(found.kind, PatternKind::skipped);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_EQ(found.sequence, 500);
  EXPECT_EQ(found.collectives, 1);
  EXPECT_THAT(found.text, HasSubstr("rank 2 skipped 1 collective at 500 (all_reduce, 4.0 KiB)"));
  EXPECT_EQ(only(run_of(2, 200, skip(1, 100))).kind, PatternKind::skipped);
}

TEST(Patterns, ACollectiveTooManyIsOneFinding) {
  const test::Folder folder;
  for (int rank = 0; rank < 4; ++rank) {
    auto text = test::header(rank, 4);
    for (int i = 0; i < 200; ++i) {
      auto call = test::healthy(rank, i);
      if (rank == 1 && i == 101) {
        auto more = call;
        more.bytes = 777 * 4;
        text += test::line(more);
      }
      if (rank == 1 && i >= 101) ++call.sequence;
      text += test::line(call);
    }
    folder.write("rank" + std::to_string(rank), text);
  }
  const auto found = only(folder.read());
  EXPECT_EQ(found.kind, PatternKind::extra);
  EXPECT_THAT(found.ranks, ElementsAre(1));
  EXPECT_EQ(found.sequence, 101);
}

TEST(Patterns, SkewBeyondTheLimitNamesTheRankOverClocksThatAreOff) {
  const auto late = [](int rank, Call& call) {
    if (call.sequence == 24) {  // a barrier; all come out when the late one came in
      if (rank == 2) call.enter += 250 * ms;
      call.end += 250 * ms;
    }
    return true;
  };
  const auto found = only(run_of(4, 50, late));
  EXPECT_EQ(found.kind, PatternKind::skew);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_EQ(found.sequence, 24);
  EXPECT_NEAR(found.value, 250, 1);
  EXPECT_THAT(found.text,
              HasSubstr("rank 2 comes more than 100 ms behind the first into 1 barrier; worst 24 (barrier): 250 ms"));
  PatternSettings patient;
  patient.skew_ms = 300;
  const auto log = run_of(4, 50, late);
  EXPECT_THAT(find_patterns(log, clocks(log), patient).patterns, IsEmpty());
}

TEST(Patterns, RanksThatStartAtDifferentTimesAreNotLate) {
  const auto log = run_of(4, 50, [](int rank, Call& call) {
    if (call.sequence == 0) call.enter -= rank * 2000 * ms;
    if (call.sequence > 0 && call.sequence < 4) call.site = call.sequence == 1 ? "first_step" : "setup";
    if (call.sequence > 0 && call.sequence < 4 && rank == 1) call.enter -= 500 * ms;
    return true;
  });
  EXPECT_THAT(find_patterns(log, clocks(log)).patterns, IsEmpty());
}

TEST(Patterns, ASlowRankIsAlwaysLast) {
  const auto slow = [](int share) {
    return [share](int rank, Call& call) {
      call.end += 5 * ms;
      if (rank == 1 && call.sequence % 100 < share) call.enter += 4 * ms;
      return true;
    };
  };
  const auto found = only(run_of(4, 200, slow(90)));
  EXPECT_EQ(found.kind, PatternKind::slow);
  EXPECT_THAT(found.ranks, ElementsAre(1));
  EXPECT_THAT(found.text, HasSubstr("rank 1 is slow: it comes last into"));
  const auto log = run_of(4, 200, slow(60));
  EXPECT_THAT(find_patterns(log, clocks(log)).patterns, IsEmpty()) << "last in 60 % is not always";
}

TEST(Patterns, GrowthOfOneCallAmongOthersThatRepeat) {
  const auto grown = [](int from, double factor) {
    return [from, factor](int, Call& call) {
      const auto step = call.sequence / 5;
      if (call.sequence % 5 == 2) {
        for (auto i = from; i <= step; ++i)
          call.bytes = static_cast<std::int64_t>(static_cast<double>(call.bytes) * factor) / 4 * 4;
      }
      return true;
    };
  };
  const auto jumps = only(run_of(2, 50, grown(8, 2)));
  EXPECT_EQ(jumps.kind, PatternKind::growth);
  EXPECT_EQ(jumps.sequence, 42);
  EXPECT_EQ(jumps.value, 4);
  EXPECT_EQ(jumps.text,
            "the all_reduce of backward grows from 42 on: 64.0 KiB before, 256.0 KiB in the end (x4.0), on every rank");
  const auto creeps = only(run_of(2, 100, grown(3, 1.05)));
  EXPECT_EQ(creeps.kind, PatternKind::growth);
  EXPECT_EQ(creeps.sequence, 17);
  const auto once = run_of(2, 50, grown(9, 2));
  EXPECT_THAT(find_patterns(once, clocks(once)).patterns, IsEmpty()) << "a single jump, in the last step, is no growth";
}

TEST(Patterns, GrowthWhereNoCallRepeats) {
  const auto found = only(run_of(2, 12, [](int, Call& call) {
    call.kind = "all_gather";
    call.bytes = 1024 * (call.sequence + 1);
    return true;
  }));
  EXPECT_EQ(found.kind, PatternKind::growth);
}

TEST(Patterns, SizesThatRiseAndFallAreNoGrowth) {
  const auto log = run_of(2, 60, [](int, Call& call) {
    constexpr std::int64_t sizes[] = {64, 4096, 1024, 65536, 16, 256, 1 << 20};
    call.kind = "all_reduce";
    call.bytes = sizes[call.sequence * call.sequence % 7];  // no period of 5
    return true;
  });
  EXPECT_THAT(find_patterns(log, clocks(log)).patterns, IsEmpty());
}

TEST(Patterns, WithoutEndsSkewIsNotKnown) {
  const auto log = run_of(3, 40, [](int rank, Call& call) {
    call.end = not_ended;
    if (rank == 1) call.enter += 900 * ms;
    return call.sequence < 40;
  });
  EXPECT_THAT(clocks(log), IsEmpty());
  EXPECT_EQ(view({}, log).clocks, 0u);
  EXPECT_EQ(only(log).kind, PatternKind::stuck);
}

TEST(Patterns, ManyRanks) {
  const auto log = run_of(10'000, 6, [](int rank, Call& call) {
    if (call.sequence == 5) call.end = not_ended;
    return rank != 7'001 || call.sequence < 5;
  });
  const auto found = only(log);
  EXPECT_EQ(found.kind, PatternKind::silent);
  EXPECT_THAT(found.ranks, ElementsAre(7'001));
  EXPECT_THAT(found.text, HasSubstr("9999 ranks wait in 5"));
  EXPECT_EQ(clocks(log).size(), 10'000u);
}

TEST(Clocks, AreFoundAndSayHowFarTheyMayBeOff) {
  const auto found = clocks(run_of(3, 40, [](int rank, Call& call) {
    if (rank == 2) call.end += call.sequence % 2 == 0 ? 100'000 : -100'000;
    return true;
  }));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at(1).shift, -7'000'123'456LL);
  EXPECT_EQ(found.at(1).error, 0);
  EXPECT_NEAR(static_cast<double>(found.at(2).shift), -2 * 7'000'123'456.0, 100'000);
  EXPECT_EQ(found.at(2).error, 100'000);
}

TEST(Plan, HasEveryCollectiveOfTheMajorityInOrder) {
  const auto plan = plan_of(run_of(3, 10, [](int rank, Call& call) {
    if (rank == 1 && call.sequence == 3) call.bytes = 8;
    if (call.sequence == 9) call.end = not_ended;
    return true;
  }));
  EXPECT_EQ(plan.at("schema"), "stepgauge.collective_plan");
  EXPECT_EQ(plan.at("world_size"), 3);
  ASSERT_EQ(plan.at("collectives").size(), 10u);
  const auto& fourth = plan.at("collectives").at(3);
  EXPECT_EQ(fourth.at("bytes"), 256);
  EXPECT_EQ(fourth.at("count"), 64);
  EXPECT_EQ(fourth.at("dtype"), "float32");
  EXPECT_EQ(fourth.at("kind"), "all_reduce");
  EXPECT_NEAR(fourth.at("recorded_ms").get<double>(), 1.8, 0.3);
  EXPECT_TRUE(plan.at("collectives").at(9).at("recorded_ms").is_null());
}

}  // namespace
}  // namespace stepgauge::replay
