"""Traces from outside: files made here by hand, what is shown of them, what is found between two of them, and bad input."""

import gzip
import json
import os
import subprocess

import pytest
from conftest import FAILED, OK, STEPGAUGE, USAGE, WORKER, strict_json

GEMM = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<std::plus<float>, float>(float)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Training:
    """A loop whose host waits for every kernel, so that each of its waits is one of the device. Times are us."""

    def __init__(self, rank=0, world=1, steps=10, sleep=0, extra_copy=False, extra_kernel=False, base=1_700_000_000_000_000_000,
                 nccl=NCCL):
        self.events, self.now, self.correlation = [], 0.0, 0
        self.rank, self.world, self.base = rank, world, base
        for step in range(steps):
            begin = self.now
            self.phase("forward", [("Memcpy HtoD (Pinned -> Device)", 10)] + [("Memcpy DtoD (Device -> Device)", 6)] * extra_copy
                       + [(GEMM, 50)] * 3)
            self.phase("backward", [(GEMM, 50)] * 6 + [("extra_kernel", 8)] * extra_kernel, step if world > 1 else None, nccl)
            self.phase("optimizer", [(ADAM, 20)], sleep=sleep)
            self.now += 5
            self.add("gpu_user_annotation", f"ProfilerStep#{step}", begin, self.now - begin, pid=0)

    def add(self, category, name, begin, length, pid=None, **arguments):
        pid = 4000 + self.rank if pid is None else pid
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": 7, "ts": round(begin, 3),
                            "dur": round(length, 3), "args": arguments})

    def launch(self, name, length):
        self.correlation += 1
        copy = name.startswith("Memcpy")
        self.add("cuda_runtime", "cudaMemcpyAsync" if copy else "cudaLaunchKernel", self.now, 4, correlation=self.correlation)
        self.add("gpu_memcpy" if copy else "kernel", name, self.now + 6, length, pid=0, device=0, stream=7,
                 correlation=self.correlation)
        self.now += 6 + length

    def phase(self, name, work, sequence=None, nccl=None, sleep=0):
        begin = self.now
        self.now += sleep
        for kernel, length in work:
            self.launch(kernel, length)
        if sequence is not None:
            self.add("user_annotation", "nccl:all_reduce", self.now, 4, sequence=sequence, bytes=1 << 20, bucket=0, rank=self.rank)
            self.launch(nccl, 30)
        self.add("user_annotation", name, begin, self.now - begin)

    def document(self, own=True, **changes):
        head = {"trace_version": 1, "timeline": "device", "rank": self.rank, "world_size": self.world, "dropped": 0,
                "event_step_ms": []}
        return {"schemaVersion": 1, "baseTimeNanoseconds": self.base,
                "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
                "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world},
                **({"stepgauge": {**head, **changes}} if own else {}), "traceEvents": self.events}


def save(work, name, document):
    path = work.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return name


def show(work, *arguments):
    done = work("trace", "show", *arguments, "--json")
    assert done.code == OK and done.err == "", done
    return done.json


def test_show(work):
    for rank in range(2):
        save(work, f"launch/rank{rank}.trace.json.gz", Training(rank, 2, base=1_700_000_000_000_000_000 + 10**9 * rank).document())
    found = show(work, "launch")
    assert found["reliable"] and [rank["rank"] for rank in found["ranks"]] == [0, 1]
    assert found["alignment"]["shift_ns"] == [0, -10**9] and found["alignment"]["error_ns"] == [0, 0]
    part = found["ranks"][0]["breakdown"]
    assert part["step_ms"] == pytest.approx(0.587) and part["compute_ms"] == pytest.approx(0.470)
    assert part["exposed_communication_ms"] == pytest.approx(0.030) and part["overlap_ratio"] == 0
    first = found["ranks"][0]["work"][0]
    assert first["name"] == GEMM and first["phase"] == "backward" and first["per_step"] == 6
    assert found["slowest_collective"]["kind"] == "all_reduce" and found["slowest_collective"]["bytes"] == 1 << 20
    done = work("trace", "show", "launch")
    assert done.code == OK and max(map(len, done.out.splitlines())) <= 100, done
    assert "vectorized_elementwise_kerne" in done.out and "std::array" not in done.out
    assert [rank["rank"] for rank in show(work, "launch", "--rank", "1")["ranks"]] == [1]
    assert len(show(work, "launch", "--top", "2")["ranks"][0]["work"]) == 2


@pytest.mark.parametrize("planted, change, name, host", [
    ({"sleep": 20}, "idle", "idle", "no call in optimizer"),
    ({"extra_copy": True}, "appeared", "Memcpy DtoD (Device -> Device)", None),
    ({"extra_kernel": True}, "appeared", "extra_kernel", None),
])
def test_diff_names_what_was_planted_first(work, planted, change, name, host):
    a = save(work, "a.trace.json.gz", Training().document())
    b = save(work, "b.trace.json.gz", Training(**planted).document())
    done = work("trace", "diff", a, b, "--json")
    assert done.code == OK, done
    first = done.json["rows"][0]
    assert (first["change"], first["name"]) == (change, name), first
    assert host is None or first["host"] == host
    steps = {row["name"]: row["change"] for row in done.json["breakdown"]}
    assert first["cost_ms"] == pytest.approx(steps["step"], abs=1e-6)
    text = work("trace", "diff", a, b)
    assert text.code == OK and max(map(len, text.out.splitlines())) <= 100 and name in text.out, text
    assert work("trace", "diff", b, b).out.endswith("nothing changed\n")


def test_files_of_others(work):
    save(work, "kineto.json.gz", Training(steps=4).document(own=False))
    found = show(work, "kineto.json.gz")["ranks"][0]
    assert found["foreign"] and found["steps"] == 4 and found["breakdown"]["kernels"] == 10
    work.write("bare.json", json.dumps(Training(steps=4).events)[:-1] + ",\n")
    assert show(work, "bare.json")["ranks"][0]["breakdown"] == found["breakdown"]


def test_what_cannot_be_trusted_is_withheld(work):
    save(work, "lost.json.gz", Training().document(dropped=3))
    fewer = Training(steps=50)
    fewer.events = [event for event in fewer.events
                    if event["cat"] not in ("kernel", "gpu_memcpy") or event["ts"] > 5 * fewer.now / 50 - 1]
    save(work, "fewer.json.gz", fewer.document())
    save(work, "unknown.json.gz", Training(0, 2, nccl="a kernel of another library").document())
    for name, words in [("lost.json.gz", "lost 3 records"), ("fewer.json.gz", "45 of 50 steps have GPU records"),
                        ("unknown.json.gz", "no communication was seen in a world of 2")]:
        done = work("trace", "show", name)
        assert done.code == FAILED and words in done.out.replace("\n    ", " ") and "elementwise" not in done.out, done
        done = work("trace", "show", name, "--json")
        rank = done.json["ranks"][0]
        assert done.code == FAILED and not done.json["reliable"] and rank["breakdown"] is None and words in rank["reasons"][0]
        for pair in ((name, "lost.json.gz"), ("lost.json.gz", name)):
            assert work("trace", "diff", *pair).code == FAILED


def bad_files(work):
    whole = json.dumps(Training(steps=3).document()).encode()
    packed = gzip.compress(whole)

    def with_event(**changes):
        return json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, **changes}]}).encode()

    return {
        "empty.json": (b"", "empty"),
        "page.json": (b"<!DOCTYPE html><html><body>404</body></html>", "not Chrome trace JSON"),
        "junk.json": (bytes(range(128, 256)) * 40, "not Chrome trace JSON"),
        "record.json": (b'{"schema": 1, "metrics": {}}', '"traceEvents"'),
        "cut.json": (whole[:len(whole) // 2], "cut off"),
        "cut.json.gz": (packed[:len(packed) // 2], "cut off"),
        "junk.json.gz": (packed + b"<html>", "follow the end of the gzip data"),
        "damaged.json.gz": (packed[:200] + bytes(50) + packed[250:], ""),
        "nan.json": (with_event(ts=float("nan")), 'found "NaN"'),
        "negative.json": (with_event(dur=-1), "event 1"),
        "far.json": (with_event(ts=1e300), '"ts"'),
        "deep.json": (b'{"traceEvents":' + b"[" * 100000, "expected an object"),
        "deeper.json": (b'{"x":' + b"[" * 100000, "nested deeper"),
        "newer.json": (json.dumps({"stepgauge": {"trace_version": 99}, "traceEvents": []}).encode(), "newer"),
    }


def test_bad_input(work):
    good = save(work, "good.json.gz", Training().document())
    files = bad_files(work)
    for name, (content, words) in files.items():
        (work.path / name).write_bytes(content)
        for arguments in (("show", name), ("diff", good, name), ("diff", name, good), ("show", name, "--json")):
            done = work("trace", *arguments, timeout=20)
            assert done.code == USAGE and done.out == "" and name in done.err and words in done.err, (arguments, done)
            assert done.err.count("\n") == 1 and len(done.err) < 400, done
    os.mkfifo(work.path / "fifo.json")
    (work.path / "folder").mkdir()
    for name, words in [("fifo.json", "special"), ("folder", "no traces"), ("nowhere.json", "No such file"), ("/dev/zero", "special"),
                        ("small.yaml", "not Chrome trace JSON")]:
        done = work("trace", "show", name, timeout=10)
        assert done.code == USAGE and words in done.err and done.out == "", (name, done)


@pytest.mark.parametrize("arguments, words", [
    ((), ["subcommand"]),
    (("shwo",), []),
    (("show",), ["path"]),
    (("diff", "good.json.gz"), ["b is required"]),
    (("show", "good.json.gz", "--rank", "7"), ["rank 7", "0"]),
    (("show", "good.json.gz", "--rank", "-1"), ["--rank"]),
    (("show", "good.json.gz", "--top", "many"), ["--top"]),
])
def test_command_line(work, arguments, words):
    save(work, "good.json.gz", Training().document())
    done = work("trace", *arguments)
    assert done.code == USAGE and done.out == "" and all(word in done.err for word in words), done


def test_a_million_events_take_bounded_memory(work):
    """Text of 400 MB of names that repeat: what is kept is the events, not the text."""
    event = next(event for event in Training(steps=1).events if event["name"] == GEMM)
    with gzip.open(work.path / "large.json.gz", "wt", compresslevel=1) as file:
        file.write('{"traceEvents":[')
        for i in range(1_000_000):
            file.write(json.dumps({**event, "ts": i * 60.125, "args": {"correlation": i + 1, "note": "x" * 200}}) + ",\n")
        file.write(json.dumps({"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#0", "ts": 0, "dur": 60.2e6}) + "]}")
    command = f"ulimit -v {1 << 20}; exec {STEPGAUGE} trace show large.json.gz --json"
    done = subprocess.run(["bash", "-c", command], cwd=work.path, capture_output=True, text=True, timeout=120)
    assert done.returncode == OK, done.stderr
    assert strict_json(done.stdout)["ranks"][0]["breakdown"]["kernels"] == 1_000_000


@pytest.mark.skipif(not WORKER.exists(), reason="no worker in this build")
def test_a_merged_trace_is_json_for_everyone(work):
    """Two ranks on the CPU with real training; the merged file is read by a parser that is not ours."""
    work.write("traced.yaml", "stepgauge: 1\nname: traced\nlaunches: 1\ndefaults: {device: cpu}\naxes:\n  workload: [llama.tiny]\n"
               "  ddp: [2]\nmeasure: {steps: 5}\n")
    done = work("run", "traced.yaml", "--quiet", "--out", "a", "--trace", timeout=300)
    merged = list(work.path.glob("a/launches/*/merged.trace.json.gz"))
    assert len(merged) == 1, done
    document = strict_json(gzip.decompress(merged[0].read_bytes()).decode())
    ranks = {entry["pid_offset"]: entry["rank"] for entry in document["stepgauge"]["ranks"]}
    assert sorted(ranks.values()) == [0, 1]
    for event in document["traceEvents"]:
        assert {"ph", "name", "pid", "tid", "ts"} <= event.keys() and event["pid"] // 1_000_000 * 1_000_000 in ranks, event
    names = {event["name"] for event in document["traceEvents"]}
    assert {"forward", "backward", "optimizer", "gloo:all_reduce"} <= names
    by_rank = [sum(event["cat"] == "cpu_op" for event in document["traceEvents"]
                   if event["ph"] == "X" and event["pid"] // 1_000_000 == rank) for rank in range(2)]
    assert min(by_rank) > 100
    done = work("trace", "show", merged[0])
    assert done.code in (OK, FAILED), done
