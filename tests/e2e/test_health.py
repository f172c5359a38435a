"""Device health: a driver that shows a fault makes the launch `disturbed`; reason, samples and retries are kept."""

import json
import os
import subprocess

import pytest
from conftest import BIN, FAILED, OK, STEPGAUGE, Done, assert_valid, stub, wait_for

FAKE_NVML = BIN / "fake-nvml.so"
SUITE = """\
stepgauge: 1
name: health
launches: 1
defaults: {device: cuda, workload: llama.tiny}
axes:
  batch: [2]
measure: {steps: 20}
"""
HEALTHY = {"name": "Fake H200", "uuid": "GPU-f0", "memory_mib": 143771, "memory_used_mib": 600, "sm_mhz": 1980,
           "sm_max_mhz": 1980, "memory_mhz": 3201, "power_w": 312, "temperature_c": 41, "throttle": 0,
           "ecc_uncorrected": 0, "processes": [], "xids": []}
HARDWARE_THERMAL, POWER_CAP = 0x40, 0x4


class Gpu:
    """What the fake driver says, and runs of the stub on it in real time: 20 measured steps of 30 ms."""

    def __init__(self, work):
        self.work, self.script = work, work.path / "nvml.json"
        work.write("health.yaml", SUITE)
        self.env = {"STEPGAUGE_NVML_LIBRARY": str(FAKE_NVML), "STEPGAUGE_FAKE_NVML": str(self.script)}

    def says(self, **values) -> None:
        fresh = self.script.with_suffix(".new")
        fresh.write_text(json.dumps({"devices": [{**HEALTHY, **values}]}))
        fresh.rename(self.script)

    def arguments(self, out: str) -> list:
        return ["run", "health.yaml", "--quiet", "--out", out, "--worker", stub("--realtime", "--step-ms", "30")]

    def run(self, out: str) -> Done:
        return self.work(*self.arguments(out), env=self.env)

    def start(self, out: str) -> subprocess.Popen:
        return subprocess.Popen([STEPGAUGE, *self.arguments(out)], cwd=self.work.path, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.env})


@pytest.fixture
def gpu(work) -> Gpu:
    return Gpu(work)


def device_of(record: dict) -> dict:
    (device,) = record["health"]["devices"]
    return device


def test_a_healthy_gpu_is_ok_and_its_samples_are_kept(gpu):
    gpu.says(throttle=POWER_CAP)
    done = gpu.run("a")
    assert done.code == OK, done
    (record,) = gpu.work.records("a")
    device = device_of(record)
    assert (device["index"], device["uuid"], device["sm_max_mhz"]) == (0, "GPU-f0", 1980)
    samples = device["samples"]
    assert len(samples["t_s"]) >= 4 and samples["t_s"][0] <= 0 < samples["t_s"][-1]
    assert samples["t_s"] == sorted(samples["t_s"])
    assert {len(column) for column in samples.values()} == {len(samples["t_s"])}
    assert set(samples["power_w"]) == {312} and set(samples["sm_mhz"]) == {1980}
    measured = record["health"]["measured"]
    assert 0.5 < measured["to_s"] - measured["from_s"] < record["duration_s"]
    assert any("software power cap" in note for note in record["notes"]), "seen, and no reason to throw the launch away"
    assert device["xids"] == [] and device["processes"] == []


def test_a_throttle_is_disturbed_three_times_and_feeds_nothing(gpu):
    gpu.says(throttle=HARDWARE_THERMAL | POWER_CAP, sm_mhz=1200)
    done = gpu.run("a")
    records = gpu.work.records("a")
    assert done.code == FAILED, done
    assert [record["attempt"] for record in records] == [1, 2, 3]
    for record in records:
        assert record["status"] == "disturbed" and "GPU 0: hardware thermal slowdown in " in record["reason"]
        assert "of the measured steps" in record["reason"]
        device = device_of(record)
        assert [seen["reason"] for seen in device["throttle"]] == ["software power cap", "hardware thermal slowdown"]
        assert set(device["samples"]["throttle_bits"]) == {HARDWARE_THERMAL | POWER_CAP}
    assert "disturbed" in done.out and "hardware thermal slowdown" in done.out, done
    (cell,) = gpu.work("report", "a", "--json").json["cells"]
    assert cell["ok"] == 0 and cell["status"] == "disturbed" and cell.get("throughput") is None
    gpu.work.assert_files_valid("a")


def test_the_attempt_after_the_fault_counts(gpu):
    gpu.says(throttle=HARDWARE_THERMAL)
    run = gpu.start("a")
    journal = gpu.work.path / "a/records.jsonl"
    wait_for(lambda: journal.exists() and journal.read_text().count("\n") == 1, "the first attempt")
    gpu.says()
    out, err = run.communicate(timeout=60)
    assert run.returncode == OK, (out, err)
    assert [(record["attempt"], record["status"]) for record in gpu.work.records("a")] == [(1, "disturbed"), (2, "ok")]


@pytest.mark.parametrize("said, reason", [
    ({"processes": [{"pid": os.getpid(), "mib": 512}]}, f"another compute process on it (pid {os.getpid()}, 512 MiB)"),
    ({"throttle": 0x80}, "hardware power brake"),
    ({"throttle": 0x20}, "software thermal slowdown"),
], ids=["process", "power brake", "software thermal"])
def test_other_faults(gpu, said, reason):
    gpu.says(**said)
    done = gpu.run("a")
    assert done.code == FAILED and reason.split(" (")[0] in done.out.replace("\n", " "), done
    assert all(record["status"] == "disturbed" and reason in record["reason"] for record in gpu.work.records("a"))


def test_an_xid_and_an_ecc_error_under_way(gpu):
    gpu.says()
    run = gpu.start("a")
    wait_for(lambda: list(gpu.work.path.glob("a/launches/*/rank0.err")), "the rank")
    gpu.says(xids=[79], ecc_uncorrected=2)
    out, err = run.communicate(timeout=60)
    first, second = gpu.work.records("a")
    assert first["status"] == "disturbed" and "Xid 79" in first["reason"], (out, err)
    assert "2 uncorrected ECC errors" in first["reason"]
    assert [event["xid"] for event in device_of(first)["xids"]] == [79]
    assert second["status"] == "ok" and run.returncode == OK, "old errors are not the second attempt's"


def test_a_driver_that_tells_little_disturbs_nothing(gpu):
    fresh = {"devices": [{"uuid": "GPU-f0", "memory_mib": 143771, "memory_used_mib": 0}]}
    gpu.script.write_text(json.dumps(fresh))
    assert gpu.run("a").code == OK
    (record,) = gpu.work.records("a")
    assert set(device_of(record)) == {"index", "uuid", "samples"}
    assert set(device_of(record)["samples"]) == {"t_s", "memory_used_mib"}


def test_a_launch_on_the_cpu_keeps_host_and_ranks(work):
    done = work.run("small.yaml", "a", "--realtime", "--step-ms", "10", more=("--only", "llama*b2*", "--launches", "1"))
    assert done.code == OK, done
    (record,) = work.records("a")
    health = record["health"]
    assert health["devices"] == [] and "devices_absent" not in health
    samples = health["host"]["samples"]
    assert len(samples["t_s"]) >= 3 and all(running >= 1 for running in samples["procs_running"])
    (rank,) = health["host"]["ranks"]
    assert rank["pid"] == record["evidence"]["ranks"][0]["pid"]
    assert rank["samples"]["minor_faults"][-1] >= rank["samples"]["minor_faults"][0] > 0
    assert record["evidence"]["ranks"][0]["voluntary_switches"] > 0
    assert_valid("record", record)
