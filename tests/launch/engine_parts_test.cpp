// Parts of the launchers of engines: what engines tell, how hosts are named, what an agent's file says.
#include <gmock/gmock.h>

#include <fstream>

#include "launch/agent_log.hpp"
#include "launch/clock.hpp"
#include "launch/engine.hpp"
#include "launch/engine_place.hpp"
#include "launch/engine_request.hpp"
#include "launch/network.hpp"
#include "launch/rendezvous.hpp"
#include "launch_support.hpp"

namespace stepgauge::launch::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

machine::Variables open_mpi(const char* rank, const char* size, const char* local, const char* local_size) {
  return {{"OMPI_COMM_WORLD_RANK", rank},
          {"OMPI_COMM_WORLD_SIZE", size},
          {"OMPI_COMM_WORLD_LOCAL_RANK", local},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size}};
}

TEST(EnginePlace, OpenMpiTellsRankAndLocalRank) {
  const auto place = engine_place(Engine::mpirun, open_mpi("5", "8", "1", "4"));
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.ranks, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_ranks, 4);
}

TEST(EnginePlace, SlurmTellsTheNodeAndItsTasks) {
  const auto place = engine_place(Engine::srun, {{"SLURM_PROCID", "6"},
                                                 {"SLURM_STEP_NUM_TASKS", "7"},
                                                 {"SLURM_LOCALID", "0"},
                                                 {"SLURM_NODEID", "3"},
                                                 {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}});
  EXPECT_EQ(place.rank, 6);
  EXPECT_EQ(place.local_ranks, 1);
}

TEST(EnginePlace, WhatDoesNotFitIsRefusedByName) {
  EXPECT_THAT(error_of([] { engine_place(Engine::srun, open_mpi("0", "1", "0", "1")); }), HasSubstr("SLURM_PROCID"));
  EXPECT_THAT(error_of([] { engine_place(Engine::mpirun, open_mpi("x", "1", "0", "1")); }),
              HasSubstr("OMPI_COMM_WORLD_RANK: expected a number from 0 on, found \"x\""));
  EXPECT_THAT(error_of([] { engine_place(Engine::mpirun, open_mpi("2", "2", "0", "1")); }), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(error_of([] { tasks_on_node("2(x", 0); }), HasSubstr("2(x"));
  EXPECT_THAT(error_of([] { tasks_on_node("2(x2)", 2); }), HasSubstr("ends before node"));
  EXPECT_EQ(tasks_on_node("4,2(x2)", 0), 4);
  EXPECT_EQ(tasks_on_node("4,2(x2)", 2), 2);
}

TEST(EnginePlace, AWorkerOfMpiGetsTheEnginesVariablesAndNoToken) {
  const auto passed = mpi_variables({{"PMIX_RANK", "1"},
                                     {"OMPI_COMM_WORLD_RANK", "1"},
                                     {"SLURM_JWT", "secret"},
                                     {"SLURM_JOB_ID", "4"},
                                     {"AWS_SECRET", "secret"}});
  EXPECT_EQ(passed.size(), 3u);
  EXPECT_FALSE(passed.contains("SLURM_JWT"));
}

TEST(Hosts, ListAndFileSayTheSame) {
  const auto list = parse_hosts("n1:4,n2");
  const auto file = parse_hostfile("# two\nn1 slots=4\n\n  n2   # the other\n", "hosts");
  ASSERT_EQ(list.size(), 2u);
  ASSERT_EQ(file.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(list[i].name, file[i].name);
    EXPECT_EQ(list[i].slots, file[i].slots);
  }
}

TEST(Hosts, AMistakeIsNamedWithItsPlace) {
  EXPECT_THAT(error_of([] { parse_hosts("n1,,n2"); }), HasSubstr("--hosts: \"\" is no host name"));
  EXPECT_THAT(error_of([] { parse_hosts("n1;rm -rf"); }), HasSubstr("is no host name"));
  EXPECT_THAT(error_of([] { parse_hosts("-x"); }), HasSubstr("is no host name"));
  EXPECT_THAT(error_of([] { parse_hosts("n1:0"); }), HasSubstr("slots: expected an integer from 1 on"));
  EXPECT_THAT(error_of([] { parse_hosts("n1,n1"); }), HasSubstr("stands twice"));
  EXPECT_THAT(error_of([] { parse_hostfile("n1\nn2 slot=3\n", "f"); }), HasSubstr("f:2: expected \"name\" or"));
  EXPECT_THAT(error_of([] { parse_hostfile("n1\nn2 slots=many\n", "f"); }), HasSubstr("f:2: host \"n2\": slots"));
  EXPECT_THAT(error_of([] { parse_hostfile("# nobody\n", "f"); }), HasSubstr("f: names no host"));
}

TEST(EngineCommand, OversubscriptionOnlyWhereTheCellAsksForIt) {
  auto cell = small_cell(4);
  cell.ddp.nodes = 2;
  const EngineOptions options{
      Engine::mpirun, "/usr/bin/mpirun", "/opt/stepgauge", {{"n1", {}}, {"n2", {}}, {"n3", {}}}};
  auto command = engine_command(options, cell, "/runs/l0");
  EXPECT_THAT(command, Contains("n1:2,n2:2"));
  EXPECT_THAT(command, Contains("ppr:2:node"));
  EXPECT_EQ(command.back(), "/runs/l0");
  cell.ddp.oversubscribe = true;
  EXPECT_THAT(engine_command(options, cell, "/runs/l0"), Contains("ppr:2:node:OVERSUBSCRIBE"));
}

TEST(EngineCommand, PlacesThatAreMissingAreSaidBeforehand) {
  auto cell = small_cell(4);
  EXPECT_EQ(placement_problem(cell, Engine::mpirun, {}), "");
  EXPECT_THAT(placement_problem(cell, Engine::mpirun, {{"n1", 2}}),
              HasSubstr("needs 4 ranks on host n1, which has 2 slots"));
  cell.ddp.oversubscribe = true;
  EXPECT_EQ(placement_problem(cell, Engine::mpirun, {{"n1", 2}}), "");
  cell.ddp.nodes = 2;
  EXPECT_THAT(placement_problem(cell, Engine::mpirun, {{"n1", 2}}), HasSubstr("needs 2 hosts, 1 given"));
}

TEST(EngineWordsTest, ACancelledJobAndALostHostAreTold) {
  const auto time = read_engine_words(
      Engine::srun,
      "srun: x\nslurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T06:00:00 DUE TO TIME LIMIT ***\n");
  EXPECT_TRUE(time.cancelled);
  EXPECT_EQ(time.cancelled_why, "DUE TO TIME LIMIT");
  EXPECT_TRUE(read_engine_words(Engine::srun, "*** JOB 7 ON n1 CANCELLED AT 2026-11-30T06:00:00 ***").cancelled);
  const auto node = read_engine_words(
      Engine::srun,
      "*** STEP 7.0 ON n2 CANCELLED AT 2026-11-30T06:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***");
  EXPECT_FALSE(node.cancelled);
  EXPECT_EQ(node.lost_host, "n2");
  EXPECT_EQ(
      read_engine_words(Engine::mpirun,
                        "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[1,0],0] on node a\n"
                        "  Remote daemon: [[48185,0],1] on node 10.77.0.2\n")
          .lost_host,
      "10.77.0.2");
  EXPECT_FALSE(read_engine_words(Engine::srun, "a line of a worker: CANCELLED").cancelled);
}

TEST(Network, AnInterfaceThatIsNotThereIsNamedBesideThoseThatAre) {
  EXPECT_EQ(interface_problem(""), "");
  EXPECT_EQ(interface_problem("lo"), "");
  EXPECT_THAT(interface_problem("nosuch0"), HasSubstr("no network interface \"nosuch0\" on"));
  EXPECT_THAT(interface_problem("nosuch0"), HasSubstr("lo"));
  EXPECT_EQ(reachable_address("lo"), "127.0.0.1");
}

TEST(RendezvousFile, OfAnotherLaunchIsRefused) {
  const TempFolder folder;
  publish(folder.path(), {"launch-1", "10.0.0.1", 4711});
  const auto found = await_rendezvous(folder.path(), "launch-1", [] { return false; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, "10.0.0.1");
  EXPECT_EQ(found->port, 4711);
  EXPECT_THAT(error_of([&] { await_rendezvous(folder.path(), "launch-2", [] { return false; }); }),
              HasSubstr("of launch launch-1, expected launch-2"));
}

TEST(AgentLogTest, WhatTheAgentWroteIsWhatTheLauncherReads) {
  const TempFolder folder;
  AgentLog log(folder.path(), 3);
  AgentView view(folder.path(), 3);
  EXPECT_FALSE(view.read(unix_s()));
  log.started("n2", "host-2", 11);
  log.worker(12);
  log.alive("measure", 17, unix_s() - 2);
  EXPECT_TRUE(view.read(unix_s()));
  EXPECT_EQ(view.node(), "n2");
  EXPECT_EQ(view.host(), "host-2");
  EXPECT_EQ(view.worker(), 12);
  EXPECT_EQ(view.phase(), "measure");
  EXPECT_EQ(view.step(), 17);
  EXPECT_NEAR(view.sign_unix_s().value(), unix_s() - 2, 0.2);
  AgentExit exit;
  exit.exit.signal = SIGKILL;
  exit.exit.last_lines = {"bad \x01 line"};
  exit.exit.phases = {{"spawn", 0.25}};
  exit.began_unix_s = 100;
  exit.left_behind = {{3, 99, "sleep"}};
  log.exited(exit);
  EXPECT_TRUE(view.read(unix_s()));
  ASSERT_TRUE(view.exit());
  EXPECT_EQ(view.exit()->exit.signal, SIGKILL);
  EXPECT_EQ(view.exit()->exit.rank, 3);
  EXPECT_EQ(view.exit()->exit.host, "n2");
  EXPECT_EQ(view.exit()->exit.phases.at(0).phase, "spawn");
  EXPECT_EQ(view.exit()->left_behind.at(0).pid, 99);
}

TEST(AgentLogTest, ClocksThatAreFarApartAreSetRight) {
  const TempFolder folder;
  AgentLog log(folder.path(), 0);
  AgentView view(folder.path(), 0);
  log.started("n2", "n2", 1);
  view.read(unix_s() + 3600);  // this host's clock is an hour ahead
  EXPECT_NEAR(view.here(unix_s()), unix_s() + 3600, 1);
}

TEST(AgentLogTest, ABrokenLineIsToldAndNothingElseIsLost) {
  const TempFolder folder;
  AgentLog log(folder.path(), 0);
  std::ofstream(folder.path() / agent_log_name(0), std::ios::app) << "{\"event\":\"alive\n";
  log.worker(5);
  AgentView view(folder.path(), 0);
  view.read(unix_s());
  EXPECT_THAT(view.trouble(), HasSubstr("cannot be read"));
  EXPECT_EQ(view.worker(), 5);
}

TEST(Digest, AnotherCellOrWorkerIsRefused) {
  const TempFolder folder;
  const auto worker = folder.path() / "worker";
  std::ofstream(worker) << "one";
  std::ofstream(folder.path() / cell_file_name) << "{}";
  LaunchRequest request;
  request.cell = small_cell(1);
  request.folder = folder.path();
  request.command = {worker.string()};
  const auto asked = make_engine_request(request, Engine::mpirun, "id");
  EXPECT_EQ(digest_problem(asked, folder.path()), "");
  EXPECT_EQ(to_json(engine_request_from_json(to_json(asked), "engine.json")), to_json(asked));
  std::ofstream(worker) << "two";
  EXPECT_THAT(digest_problem(asked, folder.path()), HasSubstr("worker differs from the launcher's"));
  std::ofstream(worker) << "one";
  std::ofstream(folder.path() / cell_file_name) << "{ }";
  EXPECT_THAT(digest_problem(asked, folder.path()), HasSubstr("cell.json differs from the launcher's"));
}

}  // namespace
}  // namespace stepgauge::launch::test
