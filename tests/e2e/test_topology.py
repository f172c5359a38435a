"""Ways to communicate as settings, and the alarm of a launch that stalls: which hop, rank or variable it names."""

import json
import os

import pytest
from conftest import BIN, OK, SOURCE, assert_valid, strict_json

FAKE_NVML = BIN / "fake-nvml.so"
SUITE = """\
stepgauge: 1
name: topology
launches: 1
defaults: {{device: {device}, workload: llama.tiny, batch: 2, ddp: {ddp}}}
measure: {{steps: 20}}
{more}"""
NCCL_LOG = """\
h:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1
h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
h:1:1 [0] NCCL INFO Using network Socket
h:1:1 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0
h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0
h:1:1 [0] NCCL INFO 2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
h:1:1 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}
h:1:1 [0] NCCL INFO Init timings - ncclCommInitRank: rank 0 nranks 2 total 55.17 (kernels 52.33, alloc 0.42, rest 2.42)
"""
COMMUNICATION = {"communication": {"latency_us": 60.5, "sweep": [{"bytes": 1 << 26, "time_us": 18000, "busbw_gbps": 3.7}]}}


def suite(work, device: str, ddp: str, more: str = "") -> str:
    return work.write("topology.yaml", SUITE.format(device=device, ddp=ddp, more=more))


def record_of(work, out: str = "a") -> dict:
    (record,) = work.records(out)
    return record


@pytest.fixture
def two_gpus(work) -> dict:
    device = {"name": "Fake H200", "memory_mib": 143771, "memory_used_mib": 600, "nvlinks": 18, "processes": []}
    script = {"devices": [{**device, "uuid": "GPU-f0"}, {**device, "uuid": "GPU-f1"}]}
    work.write("nvml.json", json.dumps(script))
    return {"STEPGAUGE_NVML_LIBRARY": str(FAKE_NVML), "STEPGAUGE_FAKE_NVML": str(work.path / "nvml.json")}


def test_a_stall_over_sockets_names_the_hop_and_who_asked_for_it(work, two_gpus):
    work.write("nccl.log", NCCL_LOG)
    work.write("detail.json", json.dumps(COMMUNICATION))
    done = work.run(suite(work, "cuda", "{ranks: 2, transport: socket}"), "a", "--exposed-comm", "80%", "--nccl-log",
                    str(work.path / "nccl.log"), "--detail", str(work.path / "detail.json"), env=two_gpus)
    assert done.code == OK, done
    record = record_of(work)
    check = record["topology_check"]
    assert check["cause"] == "path" and check["stall_ratio"] == pytest.approx(80, abs=0.1)
    assert check["hop"]["ranks"] == [0, 1] and check["hop"]["link_gbps"] == 450 and check["hop"]["gbps"] == 3.7
    assert "P2P and shared memory are off by the cell" in check["findings"][0]
    assert record["nccl_init"] == [{"rank": 0, "communicators": 1, "total_s": 55.17, "kernels_s": 52.33, "alloc_s": 0.42,
                                    "rest_s": 2.42}]
    assert record["settings"]["algorithm"]["used"].startswith("ring")
    flat = " ".join(done.out.split())
    assert "Stall alarm" in flat and "but NCCL uses sockets (NET/Socket/0)" in flat
    assert "about 95 % of it in loading kernels" in flat
    work.assert_files_valid("a")
    assert work("report", "a", "--json").json["cells"][0]["topology_check"] == check
    article = work("report", "a", "--article", "A3", "--markdown")
    assert article.code == OK and "| socket | socket | ring/simple |" in article.out, article
    assert "Alarm, socket: GPU 0 - GPU 1" in article.out


def test_asking_for_a_tree_where_nccl_takes_a_ring_is_ineffective(work, two_gpus):
    work.write("nccl.log", NCCL_LOG)
    work.run(suite(work, "cuda", "{ranks: 2, transport: socket, algorithm: tree}"), "a", "--nccl-log",
             str(work.path / "nccl.log"), env=two_gpus)
    record = record_of(work)
    assert record["status"] == "ineffective"
    assert record["reason"].startswith("algorithm: asked tree, set NCCL_ALGO=AllReduce:Tree, used ring")


def test_a_straggler_is_told_from_a_slow_path(work):
    done = work.run(suite(work, "cpu", "2"), "a", "--exposed-comm", "60%", "--late-rank", "1")
    check = record_of(work)["topology_check"]
    assert check["cause"] == "straggler" and check["straggler"]["rank"] == 1
    assert "rank 1 came last in 100 % of the collectives" in " ".join(done.out.split())


@pytest.mark.parametrize("exposed, more", [("20%", ""), ("60%", "stall_alarm: 0\n"), ("60%", "stall_alarm: 70%\n")])
def test_no_alarm_below_the_limit_or_where_nobody_wants_one(work, exposed, more):
    done = work.run(suite(work, "cpu", "2", more), "a", "--exposed-comm", exposed)
    assert done.code == OK and "topology_check" not in record_of(work), done
    assert "Stall alarm" not in done.out


def test_an_interface_that_is_not_here_is_unsupported_with_those_that_are(work):
    path = suite(work, "cpu", "{ranks: 2, interface: nothere0}")
    here = sorted(name for name in os.listdir("/sys/class/net") if os.path.isdir(f"/sys/class/net/{name}"))
    (skipped,) = work("list", path, "--json").json["skipped"]
    assert skipped["status"] == "unsupported"
    assert skipped["reason"] == "needs network interface nothere0; here: " + ", ".join(here)


def test_a_topology_file_that_is_not_there_is_unsupported(work, two_gpus):
    path = suite(work, "cuda", "{ranks: 2, topology_file: gone.xml}")
    (skipped,) = work("list", path, "--json", env=two_gpus).json["skipped"]
    assert skipped["reason"] == "needs the topology file gone.xml, there is no such file"
    work.write("gone.xml", "<system/>")
    assert len(work("list", path, "--json", env=two_gpus).json["cells"]) == 1


def test_what_shell_and_cell_say_differently_is_shown(work, two_gpus):
    done = work.run(suite(work, "cuda", "{ranks: 2, protocol: ll}"), "a", env={**two_gpus, "NCCL_PROTO": "Simple"})
    assert done.code == OK, done
    assert 'NCCL_PROTO: the shell says "Simple", the cell "AllReduce:LL"' in done.out


def test_ranks_share_devices_only_where_the_cell_says_so(work, two_gpus):
    refused = work("list", suite(work, "cuda", "3"), "--json", env=two_gpus).json
    assert refused["skipped"][0]["reason"] == "needs 3 GPUs, 2 here"
    path = suite(work, "cuda", "{ranks: 3, oversubscribe: true}")
    done = work.run(path, "a", "--dump-environment", env=two_gpus)
    assert done.code == OK, done
    record = record_of(work)
    assert ".oversubscribed" in record["cell"]["id"]
    seen = [rank["environment"] for rank in record["ranks"]]
    assert [one["LOCAL_RANK"] for one in seen] == ["0", "1", "0"]
    assert [one["NCCL_HOSTID"] for one in seen] == ["stepgauge-0-0", "stepgauge-0-0", "stepgauge-0-1"]


def test_the_doctor_shows_links_and_interfaces(work, two_gpus):
    done = work("doctor", env=two_gpus)
    assert "GPU 0 - GPU 1: nvlink, NVLink 4, 18 links, 450 GB/s a direction" in done.out, done
    assert "network interfaces: " in done.out and "lo" in done.out


@pytest.mark.parametrize("name", ["a03_topology", "a09_replay", "a11_overlap", "a13_compression", "comm_cpu"])
def test_the_suites_are_listed_and_small(work, two_gpus, name):
    plan = work("list", SOURCE / "configs" / f"{name}.yaml", "--json", env=two_gpus).json
    assert plan["cells"] and plan["estimated_minutes"] < 5
    reasons = {cell["reason"] for cell in plan["skipped"]}
    assert reasons <= {"needs InfiniBand (ddp.transport ib), no device of it here"}, reasons
    for cell in plan["cells"]:
        assert_valid("cell", {key: value for key, value in cell.items() if key != "estimated_s"})


def test_a_run_without_collective_logs_says_how_to_get_some(work):
    work.run(suite(work, "cpu", "2"), "a")
    done = work("report", "a", "--article", "A9")
    assert done.code == OK and "collective_log: true" in " ".join(done.out.split()), done
    assert strict_json(work("report", "a", "--json").out)
