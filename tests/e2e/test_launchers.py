"""Ranks placed by the real engines: Open MPI's mpirun, here and over two hosts, and Slurm's srun on two nodes."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import engines
from conftest import FAILED, OK, STEPGAUGE, USAGE, assert_valid, strict_json, stub, wait_for

SUITE = """\
stepgauge: 1
name: ranks
launches: 1
defaults: {{device: cpu}}
axes:
  workload: [llama.tiny]
  ddp: [{ddp}]
measure: {{steps: 20}}
limits: {{launch: {launch}, silence: {silence}, grace: 1s}}
"""


def suite(work, ddp: str, launch: str = "30s", silence: str = "10s") -> str:
    return work.write("ranks.yaml", SUITE.format(ddp=ddp, launch=launch, silence=silence))


def only_record(work, out: str) -> dict:
    records = work.records(out)
    assert len(records) == 1
    return records[0]


def events(work, out: str, rank: int) -> list[dict]:
    [log] = (work.path / out).glob(f"launches/*/rank{rank}.agent.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def hosts_of(record: dict) -> list[str]:
    return [rank["host"] for rank in record["evidence"]["ranks"]]


def step_told(work, out: str, rank: int, step: int) -> bool:
    logs = list((work.path / out).glob(f"launches/*/rank{rank}.agent.jsonl"))
    return bool(logs) and any(f'"step":{number}' in logs[0].read_text() for number in range(step, step + 20))


@pytest.fixture
def mpirun():
    engines.require_programs("mpirun")


@pytest.fixture(scope="module")
def cluster():
    with engines.slurm() as made:
        yield made


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory):
    with engines.hosts(tmp_path_factory.mktemp("hosts"), 2) as made:
        yield made


def test_three_ranks_under_mpirun(work, mpirun):
    done = work.run(suite(work, "3"), "a", "--rendezvous", more=("--launcher", "mpirun"))
    assert done.code == OK, done
    record = only_record(work, "a")
    assert record["status"] == "ok"
    work.assert_files_valid("a")
    run = strict_json((work.path / "a" / "run.json").read_text())
    assert run["launcher"]["name"] == "mpirun" and "Open MPI" in run["launcher"]["version"]
    assert [event["event"] for event in events(work, "a", 2)][-1] == "exit"
    assert work.left_running() == []


def test_a_rank_that_dies_is_named(work, mpirun):
    done = work.run(suite(work, "3"), "a", "--mode", "die", "--rank", "1", "--others", "hang", more=("--launcher", "mpirun"))
    assert done.code == FAILED, done
    record = only_record(work, "a")
    assert record["status"] == "crashed"
    assert "rank 1 died by SIGKILL" in record["reason"]
    assert work.left_running() == []


def test_a_hanging_rank_ends_with_the_deadline(work, mpirun):
    done = work.run(suite(work, "2", launch="4s", silence="60s"), "a", "--mode", "ignore-term", "--rank", "1",
                    more=("--launcher", "mpirun"))
    assert done.code == FAILED, done
    record = only_record(work, "a")
    assert record["status"] == "hung"
    assert "not done after 4 s" in record["reason"]
    assert work.left_running() == []


def test_an_interrupt_ends_every_rank(work, mpirun):
    suite(work, "2")
    process = work.start("run", "ranks.yaml", "--out", "a", "--launcher", "mpirun", "--worker",
                         stub("--realtime", "--step-ms", "200"))
    wait_for(lambda: step_told(work, "a", 1, 3), "a step of rank 1")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == FAILED
    assert work.left_running() == []


def test_a_killed_launcher_leaves_nothing(work, mpirun):
    suite(work, "2")
    process = work.start("run", "ranks.yaml", "--out", "a", "--launcher", "mpirun", "--worker",
                         stub("--realtime", "--step-ms", "200"))
    wait_for(lambda: step_told(work, "a", 1, 3), "a step of rank 1")
    process.kill()
    process.wait()
    wait_for(lambda: not work.left_running(), "the ranks to end")


def test_bad_hosts_and_nodes_are_said_before_anything_runs(work, mpirun):
    suite(work, "{ranks: 4, nodes: 2}")
    local = work.run("ranks.yaml", "a")
    assert local.code == FAILED and "2 nodes need --launcher mpirun or srun" in local.err
    few = work.run("ranks.yaml", "a", more=("--launcher", "mpirun", "--hosts", "n1"))
    assert few.code == FAILED and "needs 2 hosts, 1 given" in few.err
    work.write("hosts", "n1 slots=two\n")
    bad = work.run("ranks.yaml", "a", more=("--launcher", "mpirun", "--hostfile", "hosts"))
    assert bad.code == USAGE and "hosts:1: host \"n1\": slots: expected an integer" in bad.err
    wrong = work.run("ranks.yaml", "a", more=("--launcher", "srun", "--hosts", "n1,n2"))
    assert wrong.code == USAGE and "Slurm chooses them" in wrong.err
    assert not (work.path / "a").exists()


def test_a_missing_engine_makes_the_cells_unsupported(work):
    suite(work, "2")
    done = work.run("ranks.yaml", "a", more=("--launcher", "mpirun"), env={"PATH": "/nowhere"})
    assert done.code == FAILED
    assert "mpirun is not on PATH" in done.err and "openmpi-bin" in done.err


def test_ranks_on_two_hosts(work, two_hosts):
    suite(work, "{ranks: 4, nodes: 2, interface: eth0}")
    done = work.run("ranks.yaml", "a", "--rendezvous", more=("--launcher", "mpirun", "--hosts", ",".join(two_hosts.addresses)),
                    env=two_hosts.environment)
    assert done.code == OK, done
    record = only_record(work, "a")
    assert hosts_of(record) == ["n1", "n1", "n2", "n2"]
    assert any("ranks 2, 3 ran on n2: the health of that host was not sampled" in note for note in record["evidence"]["notes"])
    [meeting] = (work.path / "a").glob("launches/*/rendezvous.json")
    assert json.loads(meeting.read_text())["address"] == two_hosts.addresses[0]
    assert work.left_running() == []


def test_an_interface_that_a_host_lacks_is_refused(work, two_hosts):
    suite(work, "{ranks: 2, nodes: 2, interface: eth9}")
    done = work.run("ranks.yaml", "a", more=("--launcher", "mpirun", "--hosts", ",".join(two_hosts.addresses)),
                    env=two_hosts.environment)
    assert done.code == FAILED, done
    record = only_record(work, "a")
    assert re.search(r'rank \d on n\d refuses: no network interface "eth9" on n\d', record["reason"])
    assert "eth0" in record["reason"]
    assert work.left_running() == []


def test_a_host_that_is_cut_off_is_named(work, two_hosts):
    suite(work, "{ranks: 4, nodes: 2}", launch="40s", silence="35s")
    process = subprocess.Popen(
        [STEPGAUGE, "run", "ranks.yaml", "--out", "a", "--quiet", "--launcher", "mpirun", "--hosts",
         ",".join(two_hosts.addresses), "--worker", stub("--realtime", "--step-ms", "300", "--rendezvous")],
        cwd=work.path, env={**os.environ, **two_hosts.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: step_told(work, "a", 3, 1), "a step of rank 3")
    began = time.monotonic()
    two_hosts.cut_off(2)
    out, err = process.communicate(timeout=60)
    assert process.returncode == FAILED, out + err
    assert time.monotonic() - began < 30
    record = only_record(work, "a")
    assert record["status"] == "crashed"
    assert re.search(r"host n2 \(10\.77\.\d+\.2\) vanished \(ranks 2, 3\)", record["reason"]), record["reason"]
    wait_for(lambda: not work.left_running(), "the ranks of the lost host to end", 20)


def test_srun_over_two_nodes(work, cluster):
    suite(work, "{ranks: 2, nodes: 2}")
    done = work.run("ranks.yaml", "a", "--rendezvous", more=("--launcher", "srun"), env=cluster.environment)
    assert done.code == OK, done
    record = only_record(work, "a")
    assert hosts_of(record) == ["n1", "n2"]
    work.assert_files_valid("a")
    assert work.left_running() == []


def test_a_rank_that_dies_under_srun_is_named(work, cluster):
    suite(work, "{ranks: 4, nodes: 2}")
    done = work.run("ranks.yaml", "a", "--mode", "die", "--rank", "3", "--others", "hang", more=("--launcher", "srun"),
                    env=cluster.environment)
    assert done.code == FAILED, done
    record = only_record(work, "a")
    assert record["status"] == "crashed" and "rank 3 died by SIGKILL" in record["reason"]
    wait_for(lambda: not work.left_running(), "the ranks to end")


def test_a_cancelled_job_is_no_result(work, cluster):
    suite(work, "{ranks: 2, nodes: 2}")
    process = subprocess.Popen(
        [STEPGAUGE, "run", "ranks.yaml", "--out", "a", "--quiet", "--launcher", "srun", "--worker",
         stub("--realtime", "--step-ms", "300")],
        cwd=work.path, env={**os.environ, **cluster.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: step_told(work, "a", 1, 1), "a step of rank 1")
    cluster("scancel", "--name=stepgauge")
    out, err = process.communicate(timeout=40)
    assert process.returncode == FAILED, out + err
    record = only_record(work, "a")
    assert record["status"] == "skipped" and record["reason"].startswith("cancelled by Slurm"), record
    wait_for(lambda: not work.left_running(), "the ranks to end")


def test_a_job_array_makes_the_shards_of_one_run(work, cluster):
    work.write("job.sh", "#!/bin/sh\n" f"exec {STEPGAUGE} run small.yaml --quiet --launcher srun --shard $SLURM_ARRAY_TASK_ID/2"
               f" --out part$SLURM_ARRAY_TASK_ID --worker '{stub()}'\n")
    sent = cluster("sbatch", "--wait", "--array=1-2", "--nodes=1", f"--chdir={work.path}", str(work.path / "job.sh"))
    assert sent.returncode == 0, [path.read_text() for path in work.path.glob("slurm-*.out")]
    parts = [strict_json((work.path / f"part{i}" / "run.json").read_text()) for i in (1, 2)]
    assert [part["shard"] for part in parts] == [{"index": 1, "count": 2}, {"index": 2, "count": 2}]
    merged = work("merge", "all", "part1", "part2")
    assert merged.code == OK, merged
    whole = strict_json((work.path / "all" / "run.json").read_text())
    assert_valid("run", whole)
    listed = work("list", "small.yaml", "--json").json
    assert {cell["id"] for cell in whole["cells"]} == {cell["id"] for cell in listed["cells"]}
    assert whole["skipped"] == [] and len(work.records("all")) == 8


def test_shards_are_disjoint_and_merge_refuses_what_contradicts(work):
    ids = []
    for part in ("1/3", "2/3", "3/3"):
        ids += [cell["id"] for cell in work("list", "small.yaml", "--shard", part, "--json").json["cells"]]
    assert sorted(ids) == sorted(cell["id"] for cell in work("list", "small.yaml", "--json").json["cells"])
    bad = work("list", "small.yaml", "--shard", "4/3")
    assert bad.code == USAGE and "--shard: expected I/N" in bad.err
    for out in ("a", "b"):
        assert work.run("small.yaml", out, "--seed", out == "a" and "1" or "2", "--noise", "0.01",
                        more=("--shard", "1/3")).code == OK
    clash = work("merge", "all", "a", "b")
    assert clash.code == USAGE and "with different results" in clash.err
    assert not (work.path / "all").exists()
    assert work("merge", "all", "a", "a").code == OK
