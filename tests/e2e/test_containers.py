"""Workers in containers, with a stand-in for the engine (fake_container_engine.py): what is asked of it, what reaches the program, and
that nothing is left running however a launch ends."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from conftest import (FAILED, OK, REGRESSION, SOURCE, STUB, USAGE, WORKER, Workspace, assert_valid, strict_json, wait_for)

ENGINE = pathlib.Path(__file__).with_name("fake_container_engine.py")
TWO_RANKS = """\
stepgauge: 1
name: two
launches: 1
defaults: {device: cpu, workload: llama.tiny, ddp: 2}
measure: {steps: 20}
limits: {silence: 2s, grace: 300ms}
"""


class Containers:
    """Engines of these names in PATH, and an image team/worker:1 with the stub as its stepgauge-worker."""

    def __init__(self, work: Workspace, monkeypatch) -> None:
        self.work, self.monkeypatch = work, monkeypatch
        self.home, self.bin, self.inside = (work.path / name for name in ("engine", "bin", "image"))
        for folder in (self.home, self.bin, self.inside):
            folder.mkdir()
        (self.inside / "stepgauge-worker").symlink_to(STUB)
        self.images = {}
        self.tag("team/worker:1", "sha256:" + "1" * 64)
        monkeypatch.setenv("FAKE_CONTAINERS", str(self.home))
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.delenv("STEPGAUGE_CONTAINER_ENGINE", raising=False)
        self.daemon = None

    def tag(self, reference: str, identity: str) -> None:
        self.images[reference] = {"Id": identity, "RepoDigests": [f"registry/{reference}@{identity[:-1]}d"], "path": str(self.inside)}
        (self.home / "images.json").write_text(json.dumps(self.images))

    def install(self, *names: str) -> "Containers":
        for name in names:
            (self.bin / name).symlink_to(ENGINE)
        if "docker" in names:
            self.daemon = subprocess.Popen([self.bin / "docker", "daemon"], cwd="/")
            wait_for(lambda: (self.home / "docker.sock").exists(), "the daemon")
        return self

    def calls(self, *first: str) -> list[list[str]]:
        lines = (self.home / "calls.jsonl").read_text().splitlines()
        arguments = [json.loads(line)["arguments"] for line in lines]
        return [words for words in arguments if words[:len(first)] == list(first)]

    def run(self, out: str, *options: str, suite: str = "small.yaml", more: tuple = ()):
        return self.work("run", suite, "--quiet", "--out", out, "--worker", " ".join(("container:team/worker:1", *self.program(options))),
                         *more)

    @staticmethod
    def program(options: tuple) -> tuple:
        return ("stepgauge-worker", *options) if options else ()

    def ranks_running(self) -> list[str]:
        return [line for line in self.work.left_running() if line.startswith(f"{self.inside}/stepgauge-worker")]


@pytest.fixture
def containers(work, monkeypatch):
    made = Containers(work, monkeypatch)
    yield made
    if made.daemon is not None:
        made.daemon.terminate()
        made.daemon.wait(timeout=10)


def values(arguments: list[str], flag: str) -> list[str]:
    return [arguments[i + 1] for i, word in enumerate(arguments) if word == flag]


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_a_run_in_containers(containers, engine):
    containers.install(engine).monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    containers.monkeypatch.setenv("NCCL_DEBUG", "WARN")
    done = containers.run("a", "--dump-environment", more=("--only", "llama*b2/*"))
    assert done.code == OK and "2 of 2 launches ok" in done.out, done
    containers.work.assert_files_valid("a")
    run = containers.calls("run")[0]
    for words in (["--rm"], ["--init"], ["--network", "host"], ["--ipc", "host"], ["--user", f"{os.getuid()}:{os.getgid()}"],
                  ["--entrypoint", "stepgauge-worker"], ["sha256:" + "1" * 64, "--dump-environment"]):
        assert any(run[i:i + len(words)] == words for i in range(len(run))), (words, run)
    assert len(set(values(call, "--name")[0] for call in containers.calls("run"))) == 2, "two containers of one name"
    for record in containers.work.records("a"):
        assert record["evidence"]["container"]["id"] == "sha256:" + "1" * 64
        assert record["evidence"]["ranks"][0]["last_phase"] == "finish", "progress did not come out of the container"
        seen = record["ranks"][0]["environment"]
        assert seen["NCCL_DEBUG"] == "WARN" and "SECRET_TOKEN" not in seen and seen["HOME"] == "/" and seen["PATH"] == "/usr/bin:/bin"
        assert set(seen) <= set(values(run, "--env")) | {"PATH", "HOME"}, "a variable that nobody named"
        assert ("STEPGAUGE_PROGRESS_FD" in seen) == (engine == "podman") != ("STEPGAUGE_PROGRESS_FIFO" in seen)
        folder = containers.work.path / "a" / record["evidence"]["folder"]
        assert str(folder) in [mount.split("source=")[1].split(",")[0] for call in containers.calls("run") for mount in values(call, "--mount")]
        assert not list(folder.glob("*.progress")), "a named pipe was left: whoever reads the folder would wait for it"
    assert containers.calls("kill") == [], "nothing had to be ended"


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_ranks_in_containers_meet(containers, engine):
    containers.install(engine).work.write("two.yaml", TWO_RANKS)
    done = containers.run("a", "--rendezvous", "--dump-environment", suite="two.yaml")
    assert done.code == OK, done
    (record,) = containers.work.records("a")
    assert ("STEPGAUGE_STORE_FD" in record["ranks"][0]["environment"]) == (engine == "podman")
    assert {values(call, "--network")[0] for call in containers.calls("run")} == {"host"}


@pytest.mark.parametrize("program", ["worker", "peer"])
def test_real_ranks_open_their_store_at_the_held_port(containers, program):
    if not (WORKER.exists() if program == "worker" else importlib.util.find_spec("torch")):
        pytest.skip("no Torch here")
    containers.install("docker").work.write("two.yaml", TWO_RANKS.replace("silence: 2s", "silence: 2m"))
    words = [str(WORKER)] if program == "worker" else [sys.executable, str(SOURCE / "scripts/peers/peer.py")]
    done = containers.work("run", "two.yaml", "--quiet", "--out", "a", "--worker", " ".join(("container:team/worker:1", *words)), timeout=300)
    record = containers.work.records("a")[-1]  # a busy machine makes a launch unsteady, and then it is made again
    assert record["status"] in ("ok", "unsteady"), (done, record["reason"])
    last = "verify" if program == "worker" else "finish"  # told through the named pipe
    assert [rank["last_phase"] for rank in record["evidence"]["ranks"]] == [last, last]


def test_an_apptainer_file(containers):
    image = containers.work.path / "worker.sif"
    image.write_text(str(containers.inside))
    containers.install("apptainer").monkeypatch.setenv("APPTAINERENV_LEAK", "1")
    done = containers.work("run", "small.yaml", "--quiet", "--out", "a", "--only", "llama*b2/*", "--worker",
                           "container:worker.sif stepgauge-worker --dump-environment")
    assert done.code == OK, done
    (call, _) = containers.calls("exec")
    assert "--cleanenv" in call and call[-3:] == [str(image), "stepgauge-worker", "--dump-environment"] and values(call, "--bind")
    record = containers.work.records("a")[0]
    assert record["evidence"]["container"]["id"].startswith("sha256:") and len(record["evidence"]["container"]["id"]) == 71
    seen = record["ranks"][0]["environment"]
    assert "LEAK" not in seen and seen["RANK"] == "0" and "STEPGAUGE_PROGRESS_FD" in seen


def test_the_first_engine_is_taken_unless_one_is_named(containers):
    containers.install("podman", "docker")
    assert containers.run("a", more=("--only", "llama*b2/*")).code == OK
    containers.monkeypatch.setenv("STEPGAUGE_CONTAINER_ENGINE", str(containers.bin / "docker"))
    assert containers.run("b", more=("--only", "llama*b2/*")).code == OK
    engines = [strict_json((containers.work.path / out / "run.json").read_text())["environment"]["containers"]["stepgauge"]["engine"]
               for out in ("a", "b")]
    assert engines == ["podman", "docker"]


def test_a_hung_container_is_killed_by_name(containers):
    containers.install("docker").work.write("two.yaml", TWO_RANKS)
    done = containers.run("a", "--mode", "ignore-term", suite="two.yaml")
    assert done.code == FAILED and "hung" in done.out, done
    names = {values(call, "--name")[0] for call in containers.calls("run")}
    assert len(names) == 2 and {call[-1] for call in containers.calls("kill")} == names
    wait_for(lambda: containers.ranks_running() == [], "the containers to go", 5)


def test_the_container_of_the_other_rank_ends_with_the_crash(containers):
    containers.install("docker").work.write("two.yaml", TWO_RANKS)
    done = containers.run("a", "--mode", "segv", "--rank", "1", "--others", "ignore-term", suite="two.yaml")
    assert done.code == FAILED, done
    (record,) = containers.work.records("a")
    assert record["status"] == "crashed" and "rank 1 died by SIGSEGV" in record["reason"], record["reason"]
    assert any(call[-1].endswith("rank0") for call in containers.calls("kill"))
    wait_for(lambda: containers.ranks_running() == [], "the containers to go", 5)


@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_an_interrupt_leaves_no_container(containers, how):
    containers.install("docker")
    process = containers.work.start("run", "small.yaml", "--quiet", "--out", "a", "--worker",
                                    "container:team/worker:1 stepgauge-worker --mode sleep --sleep-s 30")
    wait_for(containers.ranks_running, "a rank")
    process.send_signal(getattr(signal, how))
    process.communicate(timeout=20)
    assert process.returncode == (FAILED if how == "SIGINT" else -signal.SIGKILL)
    wait_for(lambda: containers.ranks_running() == [], "the container to go", 10)


def test_a_moved_tag_is_told_apart_and_does_not_move_a_run(containers):
    containers.install("podman")
    assert containers.run("a").code == OK
    process = containers.work.start("run", "small.yaml", "--quiet", "--out", "b", "--worker",
                                    "container:team/worker:1 stepgauge-worker --mode sleep --sleep-s 0.3")
    wait_for(lambda: (containers.work.path / "b/records.jsonl").exists() and containers.work.records("b"), "a record")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    containers.tag("team/worker:2", "sha256:" + "1" * 64)  # the old image is still there
    containers.tag("team/worker:1", "sha256:" + "2" * 64)
    assert containers.work("run", "small.yaml", "--quiet", "--resume", "b").code == OK
    assert {call[call.index("--entrypoint") + 2] for call in containers.calls("run")} == {"sha256:" + "1" * 64}
    assert containers.run("c").code == OK
    same, moved = (containers.work("compare", "a", out, "--json") for out in ("b", "c"))
    assert not [item for item in same.json["software_differences"] if "containers" in item["field"]], same
    (identity,) = [item for item in moved.json["software_differences"] if item["field"] == "containers.stepgauge.id"]
    assert identity["base"] == "sha256:" + "1" * 64 and identity["head"] == "sha256:" + "2" * 64


def test_shards_of_two_images_are_not_merged(containers):
    containers.install("podman")
    for number, identity in ((1, "1"), (2, "1"), (3, "2")):
        containers.tag("team/worker:1", "sha256:" + identity * 64)
        assert containers.run(f"part{number}", more=("--shard", f"{number}/3")).code == OK
    assert containers.work("merge", "same", "part1", "part2").code == OK
    done = containers.work("merge", "all", "part1", "part2", "part3")
    assert done.code == USAGE and 'part3: worker "stepgauge" is another image' in done.err, done
    containers.work.assert_files_valid("part1")


def test_images_as_arms_of_a_gate(containers):
    containers.install("podman").tag("team/worker:2", "sha256:" + "2" * 64)
    words = "stepgauge-worker --noise 0.5% --seed-from-launch"
    slow = words + " --seed 7 --slow-if llama.tiny.b2/*:8"
    done = containers.work("gate", "small.yaml", "--quiet", "--only", "llama*b2/*", "--out", "g", "--pairs", "3,5", "--base",
                           f"container:team/worker:1 {words}", "--head", f"container:team/worker:2 {slow}")
    assert done.code == REGRESSION, done
    value = strict_json((containers.work.path / "g/gate.json").read_text())
    assert_valid("gate", value)
    assert {"containers.stepgauge.id", "containers.stepgauge.image"} <= {item["field"] for item in value["software_differences"]}
    for name in ("base", "head"):
        containers.work.assert_files_valid(f"g/{name}")
    why = containers.work("why", "g")
    assert "containers.stepgauge.image: team/worker:1 -> team/worker:2" in why.out, why


def test_a_worker_of_the_suite_in_a_container(containers):
    containers.install("podman").work.write("named.yaml", """\
stepgauge: 1
name: named
launches: 1
workers: {image: [container:team/worker:1, stepgauge-worker, --step-ms, "50"]}
defaults: {device: cpu, workload: llama.tiny, worker: image}
measure: {steps: 20}
""")
    done = containers.work("run", "named.yaml", "--quiet", "--out", "a")
    assert done.code == OK and containers.calls("run")[0][-2:] == ["--step-ms", "50"], done


def test_bad_images_and_engines(containers):
    work = containers.work
    assert "none of podman, docker and apptainer is in PATH" in containers.run("a").err
    containers.monkeypatch.setenv("STEPGAUGE_CONTAINER_ENGINE", "dokcer")
    done = containers.run("a")
    assert done.code == USAGE and 'did you mean "docker"?' in done.err, done
    containers.monkeypatch.setenv("STEPGAUGE_CONTAINER_ENGINE", "podman")
    assert containers.run("a").code == USAGE
    containers.install("podman", "apptainer")
    for image, words in (("team/gone:1", ["Error: team/gone:1: image not known", "podman pull team/gone:1"]), ("", ["image is missing"]),
                         ("team/worker:1=stub", ["after a space"]), ("-v", ['"-"'])):
        done = work("run", "small.yaml", "--out", "a", "--worker", f"container:{image}")
        assert done.code == USAGE and all(word in done.err for word in words), done
        done = work("gate", "small.yaml", "--out", "a", "--base", "self", "--head", f"container:{image}")
        assert done.code == USAGE and all(word in done.err for word in words), done
    containers.monkeypatch.setenv("STEPGAUGE_CONTAINER_ENGINE", "apptainer")
    for image, word in (("docker://team/worker:1", "apptainer pull FILE"), ("gone.sif", "could not open image")):
        done = work("run", "small.yaml", "--out", "a", "--worker", f"container:{image}")
        assert done.code == USAGE and word in done.err, done
    assert not (work.path / "a").exists(), "a run began that could not"
    containers.monkeypatch.delenv("STEPGAUGE_CONTAINER_ENGINE")
    done = containers.run("a,b")
    assert done.code == USAGE and "a path with a comma" in done.err, done
    work.write("bad.yaml", "stepgauge: 1\nname: bad\nworkers: {image: [\"container:\"]}\ndefaults: {device: cpu, workload: llama.tiny}\n")
    done = work("list", "bad.yaml")
    assert done.code == USAGE and "bad.yaml:3:" in done.err and "workers.image" in done.err, done


@pytest.mark.parametrize("engine", ["podman", "docker", "apptainer"])
def test_a_program_that_is_not_in_the_image(containers, engine):
    image = containers.work.path / "worker.sif"
    image.write_text(str(containers.inside))
    containers.install(engine)
    name = str(image) if engine == "apptainer" else "team/worker:1"
    done = containers.work("run", "small.yaml", "--quiet", "--out", "a", "--only", "llama*b2/*", "--worker", f"container:{name} gone")
    assert done.code == FAILED, done
    record = containers.work.records("a")[0]
    assert record["status"] == "crashed" and f'{engine} found no program "gone" in the image {name}' in record["reason"]
    assert "executable file not found" in record["reason"], "the engine's own words"


def test_ranks_across_hosts_are_unsupported(containers):
    containers.install("podman").work.write("hosts.yaml", TWO_RANKS.replace("ddp: 2", "ddp: {ranks: 2, nodes: 2}"))
    done = containers.work("list", "hosts.yaml", "--worker", "container:team/worker:1")
    assert "runs in a container: ranks across hosts" in done.out, done


def test_doctor_says_which_engine_is_here(containers):
    missing = containers.work("doctor")
    assert "none of podman, docker and apptainer is in PATH" in missing.out and "rules out: --worker container:IMAGE" in missing.out, missing
    containers.install("apptainer")
    found = containers.work("doctor")
    assert f"containers: apptainer version 9.9 (stand-in) ({containers.bin}/apptainer)" in found.out, found
