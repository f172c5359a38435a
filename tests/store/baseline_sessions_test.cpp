// Sessions, age and integrity of a baseline.
#include "store/baseline_sessions.hpp"

#include "store/baseline.hpp"
#include "support.hpp"

namespace stepgauge::store {
namespace {

using namespace stepgauge::testing;
using BaselineSessionsTest = Scratch;

ResultSet session(const std::string& id, const std::string& time, const std::vector<double>& values) {
  auto set = result_set("runs/" + id, {measured(make_cell(), {{"throughput", values}})});
  set.created_at = time;
  return as_session(set, {id, time, "runs/" + id, "abc"});
}

TEST_F(BaselineSessionsTest, JoinedLaunchesKeepTheirSession) {
  const auto joined =
      join_sessions({session("b", "2026-11-30T10:00:00Z", {3, 4}), session("a", "2026-11-29T10:00:00Z", {1, 2})});
  EXPECT_EQ(joined.created_at, "2026-11-30T10:00:00Z");
  const auto back = load(save(joined, folder_, {}));
  ASSERT_EQ(back.results.sessions.size(), 2u);
  EXPECT_EQ(back.results.sessions[0].id, "a") << "oldest first";
  EXPECT_EQ(back.results.sessions[0].commit, "abc");
  const auto& launches = back.results.cells.at(0).launches;
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_EQ(launches[2].detail.at("session"), "a");
  EXPECT_EQ(launches[2].launch, 2);
  EXPECT_EQ(back.results.expires_at, "2026-12-30T10:00:00Z") << "30 days after the newest session";
}

TEST_F(BaselineSessionsTest, WhatCannotBeJoined) {
  const auto a = session("a", "2026-11-29T10:00:00Z", {1, 2});
  EXPECT_THROW(join_sessions({a, a}), RunConflict);
  auto other = session("b", "2026-11-29T10:00:00Z", {1, 2});
  other.suite = "other";
  EXPECT_THROW(join_sessions({a, other}), RunConflict);
  other = session("b", "2026-11-29T10:00:00Z", {1, 2});
  other.fingerprint = gpu_machine("x");
  EXPECT_THROW(join_sessions({a, other}), RunConflict);
}

TEST_F(BaselineSessionsTest, AFileWithoutSessionsIsOneSession) {
  const auto path = save(result_set("runs/a", {measured(make_cell(), {{"throughput", {1, 2}}})}), folder_, {});
  const auto text = read(path);
  auto header = parse_json(text.substr(0, text.find('\n')), "header");
  for (const char* key : {"sessions", "expires_at", "digest"}) header.erase(key);
  write(path, header.dump() + text.substr(text.find('\n')));
  const auto back = load(path);
  ASSERT_EQ(back.results.sessions.size(), 1u);
  EXPECT_EQ(back.results.sessions[0].measured_at, "2026-11-29T10:00:00Z");
  EXPECT_EQ(back.results.expires_at, "2026-12-29T10:00:00Z");
}

TEST_F(BaselineSessionsTest, EditedByHandIsSeen) {
  const auto path = save(result_set("runs/a", {measured(make_cell(), {{"throughput", {101.5, 102.5}}})}), folder_, {});
  const auto text = read(path);
  EXPECT_NO_THROW(load(path));
  for (const auto& [from, to] : {std::pair{"101.5", "111.5"}, {"2026-11-29T10:00:00Z", "2026-11-28T10:00:00Z"}}) {
    auto edited = text;
    edited.replace(edited.find(from), std::string(from).size(), to);
    write(path, edited);
    const auto error = error_of([&] { load(path); });
    EXPECT_NE(error.find("digest does not fit"), std::string::npos) << error;
    EXPECT_NE(error.find("git checkout"), std::string::npos) << "it does not say what to do";
  }
  const auto last = text.rfind('\n', text.size() - 2) + 1;
  write(path, text + text.substr(last));
  EXPECT_NE(error_of([&] { load(path); }).find("stands twice"), std::string::npos);
}

TEST(Days, AreCountedOverMonthsAndYears) {
  EXPECT_EQ(days_later("2026-12-15T23:59:59Z", 30), "2027-01-14T23:59:59Z");
  EXPECT_EQ(days_later("2028-02-01T00:00:00.5Z", 30), "2028-03-02T00:00:00Z");
  EXPECT_EQ(days_later("", 30), "");
  EXPECT_EQ(days_later("yesterday", 30), "");
}

}  // namespace
}  // namespace stepgauge::store
