// The command lines of container engines, and what reaches the program inside.
#include "launch/container.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "contract/container_command.hpp"
#include "launch/listen_socket.hpp"

namespace stepgauge::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Words = std::vector<std::string>;

ContainerImage image_of(ContainerEngine engine) {
  return {engine, "/usr/bin/engine", "engine 1", "team/worker:1", "sha256:11", ""};
}

ContainerPlace place() {
  ContainerPlace out;
  out.name = "stepgauge-1-rank0";
  out.program = {"stepgauge-worker", "--flag"};
  out.mounts = {"/runs/a/launches/0", "/caches"};
  out.variables = {"NCCL_DEBUG", "RANK"};
  out.descriptors = 2;
  out.user = 1000;
  out.group = 100;
  return out;
}

TEST(ContainerCommand, IsAnImageAndAProgram) {
  EXPECT_FALSE(is_container({"worker", "container:x"}));
  EXPECT_FALSE(is_container({}));
  const auto bare = container_command({"container:reg:5000/team/worker@sha256:ab"});
  EXPECT_EQ(bare.image, "reg:5000/team/worker@sha256:ab");
  EXPECT_THAT(bare.program, ElementsAre("stepgauge-worker"));
  EXPECT_THAT(container_command({"container:w", "python3", "peer.py"}).program, ElementsAre("python3", "peer.py"));
  for (const auto* word : {"container:", "container:-v", "container:a b", "container:a\n", "container:a=b", "a"})
    EXPECT_THROW(container_command({word}), std::invalid_argument) << word;
  EXPECT_THROW(container_command({"container:a", ""}), std::invalid_argument);
}

TEST(Container, PodmanIsAskedForWhatALaunchNeeds) {
  auto where = place();
  where.gpus = true;
  EXPECT_THAT(container_arguments(image_of(ContainerEngine::podman), where),
              ElementsAre("/usr/bin/engine", "run", "--rm", "--init", "--pull=never", "--name", "stepgauge-1-rank0",
                          "--network", "host", "--ipc", "host", "--user", "1000:100", "--userns", "keep-id",
                          "--http-proxy=false", "--preserve-fds=2", "--device", "nvidia.com/gpu=all", "--mount",
                          "type=bind,source=/runs/a/launches/0,target=/runs/a/launches/0", "--mount",
                          "type=bind,source=/caches,target=/caches", "--env", "NCCL_DEBUG", "--env", "RANK",
                          "--entrypoint", "stepgauge-worker", "sha256:11", "--flag"));
  where.user = 0;
  EXPECT_THAT(container_arguments(image_of(ContainerEngine::podman), where), Not(Contains("keep-id")))
      << "podman refuses it to root";
}

TEST(Container, DockerIsAskedForWhatALaunchNeeds) {
  auto where = place();
  where.descriptors = 0;
  const auto on_cpu = container_arguments(image_of(ContainerEngine::docker), where);
  EXPECT_THAT(on_cpu, Not(Contains("--gpus")));
  EXPECT_THAT(on_cpu, Not(Contains(HasSubstr("preserve-fds"))));
  EXPECT_THAT(on_cpu, Not(Contains("keep-id")));
  where.gpus = true;
  const auto on_gpus = container_arguments(image_of(ContainerEngine::docker), where);
  EXPECT_THAT(on_gpus, Contains("--gpus"));
  EXPECT_THAT(on_gpus, Contains("all"));
}

TEST(Container, ApptainerIsAskedForWhatALaunchNeeds) {
  auto where = place();
  where.gpus = true;
  EXPECT_THAT(container_arguments(image_of(ContainerEngine::apptainer), where),
              ElementsAre("/usr/bin/engine", "exec", "--cleanenv", "--no-home", "--nv", "--bind", "/runs/a/launches/0",
                          "--bind", "/caches", "team/worker:1", "stepgauge-worker", "--flag"));
}

TEST(Container, PathsOfThisHostStayOutside) {
  const Variables rank{{"CUDA_VISIBLE_DEVICES", "2"},
                       {"HOME", "/root"},
                       {"LD_LIBRARY_PATH", "/opt"},
                       {"PATH", "/bin"},
                       {"RANK", "0"},
                       {"NVIDIA_VISIBLE_DEVICES", "void"}};
  EXPECT_THAT(container_variables(rank), ElementsAre("CUDA_VISIBLE_DEVICES", "RANK"));
}

TEST(Container, TheClientHasTheShellAndTheRanksValues) {
  const Variables shell{{"DOCKER_HOST", "unix:///x"}, {"RANK", "9"}, {"APPTAINERENV_LEAK", "1"}};
  const Variables rank{{"RANK", "0"}, {"PATH", "/bin"}};
  const auto docker = client_environment(image_of(ContainerEngine::docker), shell, rank, {"RANK"});
  EXPECT_EQ(docker.at("DOCKER_HOST"), "unix:///x");
  EXPECT_EQ(docker.at("RANK"), "0");
  const auto apptainer = client_environment(image_of(ContainerEngine::apptainer), shell, rank, {"RANK"});
  EXPECT_EQ(apptainer.at("APPTAINERENV_RANK"), "0");
  EXPECT_FALSE(apptainer.contains("APPTAINERENV_LEAK"));
  EXPECT_FALSE(apptainer.contains("APPTAINERENV_PATH"));
}

TEST(Container, WhatTheEngineDiedOfIsNotTakenForTheWorkers) {
  const auto docker = image_of(ContainerEngine::docker), apptainer = image_of(ContainerEngine::apptainer);
  EXPECT_THAT(container_failure(docker, "w", 127, "exec: not found"), HasSubstr("found no program \"w\""));
  EXPECT_THAT(container_failure(docker, "w", 126, "permission denied"), HasSubstr("cannot run \"w\""));
  EXPECT_THAT(container_failure(docker, "w", 125, "no daemon"), HasSubstr("cannot start the container"));
  EXPECT_THAT(container_failure(docker, "w", 1, "a worker's own"), IsEmpty());
  EXPECT_THAT(container_failure(apptainer, "w", 255, "FATAL: executable file not found"), HasSubstr("no program"));
  const auto podman = image_of(ContainerEngine::podman);
  const auto words = "ERROR (catatonit:6): failed to exec pid1: No such file or directory";  // of podman 4.3.1
  EXPECT_THAT(container_failure(podman, "w", 1, words), HasSubstr("found no program \"w\""));
  EXPECT_THAT(container_failure(podman, "w", 1, "ERROR: failed to exec a kernel"), IsEmpty());
  EXPECT_THAT(container_failure(apptainer, "w", 255, "FATAL: no user namespaces"), HasSubstr("cannot start"));
}

TEST(Container, AnImageIsReadBack) {
  const auto image = image_of(ContainerEngine::docker);
  EXPECT_EQ(to_json(container_image_from_json(to_json(image), "run.json")), to_json(image));
  auto other = to_json(image);
  other["engine"] = "dockre";
  try {
    container_image_from_json(other, "run.json");
    FAIL();
  } catch (const ContractError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"docker\"?"));
  }
}

/// As TCPStore opens its port: any address, SO_REUSEADDR.
int listen_at(std::uint16_t port, int family) {
  const int fd = ::socket(family, SOCK_STREAM, 0);
  const int reuse = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const bool six = family == AF_INET6;
  const auto* address = six ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  if (::bind(fd, address, six ? sizeof v6 : sizeof v4) == 0 && ::listen(fd, 4) == 0) return fd;
  ::close(fd);
  return -1;
}

TEST(Container, AHeldPortIsForTheOneWhoKnowsIt) {
  for (const int family : {AF_INET, AF_INET6}) {
    if (const int probe = ::socket(family, SOCK_STREAM, 0); probe < 0) {
      continue;  // a host without IPv6
    } else {
      ::close(probe);
    }
    const auto held = ListenSocket::reserve();
    ASSERT_GT(held.port, 0);
    const int listener = listen_at(held.port, family);
    EXPECT_GE(listener, 0) << "rank 0 cannot open its store";
    ::close(listener);
  }
  const auto taken = ListenSocket::open();
  EXPECT_LT(listen_at(taken.port, AF_INET), 0);
}

}  // namespace
}  // namespace stepgauge::launch
