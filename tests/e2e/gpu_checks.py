"""The product on real GPUs, from outside. unittest, so that a machine with nothing but Torch can run it. Label gpu.

Two GPUs are needed for part of it; what a machine lacks is skipped by name. STEPGAUGE_GPU_OUT keeps the runs."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import torch

SOURCE = pathlib.Path(os.environ.get("STEPGAUGE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("STEPGAUGE_BIN_DIR", SOURCE / "build" / "bin"))
GPUS = torch.cuda.device_count()
two_gpus = unittest.skipIf(GPUS < 2, f"needs two GPUs, {GPUS} here")


class GpuTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        kept = os.environ.get("STEPGAUGE_GPU_OUT")
        cls.folder = pathlib.Path(kept or tempfile.mkdtemp(prefix="stepgauge_gpu_")) / cls.__name__
        cls.folder.mkdir(parents=True, exist_ok=True)

    def stepgauge(self, *arguments, timeout=500):
        done = subprocess.run([BIN / "stepgauge", *map(str, arguments)], cwd=SOURCE, capture_output=True, text=True,
                              timeout=timeout)
        print(f"$ stepgauge {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr[-3000:]}", flush=True)
        return done

    def run_suite(self, suite, name, *more):
        """The run's exit code and the record of every launch (of its last attempt) in order."""
        if isinstance(suite, str):
            path = self.folder / f"{name}.yaml"
            path.write_text(suite)
        else:
            path = suite
        out = self.folder / name
        done = self.stepgauge("run", path, "--out", out, "--quiet", *more)
        records = map(json.loads, (out / "records.jsonl").read_text().splitlines())
        last = {(record["cell"]["id"], record["launch"]): record for record in records}
        return done.returncode, list(last.values())


class Faults(GpuTest):
    @two_gpus
    def test_a_fault_costs_its_siblings_nothing(self):
        code, records = self.run_suite(SOURCE / "configs" / "h200_faults.yaml", "faults")
        self.assertEqual(code, 3)
        found = [(record["status"], record["reason"]) for record in records]
        self.assertEqual([status for status, _ in found], ["ok", "oom", "ok", "crashed", "ok", "hung", "ok"], found)
        self.assertIn("rank 1", found[3][1])
        self.assertIn("rank 1", found[5][1])
        self.assertNotIn("rank 0", found[5][1], "the rank that waits in a collective is not the one that hangs")
        evidence = [rank["evidence"] for rank in records[1]["ranks"] if "evidence" in rank]
        self.assertGreater(evidence[0]["allocator"]["reserved_mib"], 1000)
        speeds = [record["metrics"]["throughput"]["value"] for record in records if record["status"] == "ok"]
        self.assertLess(max(speeds) / min(speeds), 1.05, "a cell after a fault is as fast as the one before it")


class Collectives(GpuTest):
    """What ranks on GPUs log of their collectives names the odd one."""

    def test_logs_of_gpus_tell_times_and_the_odd_rank(self):
        suite = "a09_replay.yaml" if GPUS > 1 else "a09_one_gpu.yaml"
        code, records = self.run_suite(SOURCE / "configs" / suite, "a09")
        self.assertEqual(code, 3)
        found = [(record["status"], record["reason"]) for record in records]
        self.assertEqual([status for status, _ in found], ["ok", "hung", "hung", "ok"], found)
        for _, reason in found[1:3]:
            self.assertIn("the logs of collectives: rank ", reason)
        replays = [self.stepgauge("replay", self.folder / "a09" / record["evidence"]["folder"]) for record in records]
        self.assertEqual([done.returncode for done in replays], [0, 1, 1, 1])
        self.assertIn("slow: rank 1 is slow", replays[3].stdout)
        for done in replays:
            self.assertNotIn("skew is not known", done.stdout)


class Overhead(GpuTest):
    """The loop of the harness against a bare loop over the same program: 1.000 +- 0.003."""

    def ratio(self, workload, batch, rounds, **more):
        suite = {"stepgauge": 1, "name": "overhead", "launches": 1,
                 "defaults": {"device": "cuda", "workload": workload, "batch": batch, **more}, "measure": {"steps": 30}}
        self.assertEqual(self.run_suite(json.dumps(suite), workload)[0], 0)
        cell = next((self.folder / workload / "launches").glob("*/cell.json"))
        done = subprocess.run([BIN / "bench_step_overhead", cell, str(rounds)], capture_output=True, text=True, timeout=300)
        print(done.stdout, done.stderr, flush=True)
        return json.loads(done.stdout)["ratio"]

    @unittest.skipUnless((BIN / "bench_step_overhead").exists(), "built without Google Benchmark")
    def test_resnet50(self):
        ratio = self.ratio("resnet50", 256, rounds=8, precision="bf16", memory_format="channels_last")
        self.assertAlmostEqual(ratio, 1, delta=0.003)

    @unittest.skipUnless((BIN / "bench_step_overhead").exists(), "built without Google Benchmark")
    def test_llama(self):
        self.assertAlmostEqual(self.ratio("llama.1.1b", 8, rounds=3, precision="bf16_pure"), 1, delta=0.003)


MODES = """\
stepgauge: 1
name: modes
launches: 1
defaults:
  device: cuda
  workload: {name: llama.1.1b, layers: 2, hidden: 1024, heads: 16, kv_heads: 4, ffn: 2816, sequence: 512}
  batch: 4
  precision: bf16_pure
"""


class Modes(GpuTest):
    """Every compile mode computes what eager does, and what does not is found."""

    def run_modes(self, name, cells):
        code, records = self.run_suite(MODES + cells + "measure: {steps: 20}\nlimits: {launch: 9m, compile: 5m}\n", name)
        return code, {record["cell"]["id"].rsplit("-", 1)[0]: record for record in records}

    def test_every_mode_agrees_with_the_reference(self):
        code, records = self.run_modes("modes", "axes:\n  compile: [eager, torchscript, cuda_graph, cuda_graph.forward_backward, python_eager,\n"
                                                "    compile.default, compile.reduce-overhead, compile.export]\n")
        self.assertEqual({name: record["reason"] for name, record in records.items() if record["status"] != "ok"}, {})
        self.assertEqual(code, 0)
        for record in records.values():
            self.assertTrue(record["parity"]["agrees"])
        graph = next(record for name, record in records.items() if "/cuda_graph/" in name)
        self.assertGreater(graph["metrics"]["graph_pools"]["value"], 0)
        self.assertIn("graph mark", graph["visibility"]["forward"]["by"])

    @two_gpus
    def test_two_ranks_inside_a_graph_and_around_the_compiler(self):
        code, records = self.run_modes("modes_ddp2", "include:\n  - {compile: eager, ddp: 2}\n  - {compile: cuda_graph, ddp: 2}\n"
                                                     "  - {compile: compile.default, ddp: 2}\n"
                                                     "  - {compile: compile.default, ddp: {ranks: 2, wrapper: reducer}}\n")
        self.assertEqual({name: record["reason"] for name, record in records.items() if record["status"] != "ok"}, {})
        self.assertEqual(code, 0)

    def test_precisions_and_checkpointing(self):
        code, records = self.run_modes("precisions", "axes:\n  precision: [fp32, tf32, bf16, fp16, fp8, fp8_delayed]\ninclude:\n"
                                                     "  - {checkpointing: full}\n  - {checkpointing: full, compile: cuda_graph}\n"
                                                     "  - {checkpointing: selective, compile: compile.default}\n")
        self.assertEqual({name: record["reason"] for name, record in records.items() if record["status"] != "ok"}, {})
        self.assertEqual(code, 0)

    def test_what_does_not_do_its_work_is_no_result(self):
        code, records = self.run_modes("planted_modes", "include:\n  - {compile: cuda_graph, perturb: {wrong: stale_input}}\n"
                                                        "  - {compile: compile.default, perturb: {wrong: skip_backward}}\n"
                                                        "  - {compile: cuda_graph, checkpointing: full, perturb: {wrong: no_recompute}}\n"
                                                        "  - {compile: {mode: compile.default, dynamic: off}, perturb: {wrong: recompile}}\n")
        self.assertEqual(code, 3)
        self.assertEqual([record["status"] for record in records.values()], ["incorrect", "incorrect", "ineffective", "unsteady"])


class Inside(GpuTest):
    """The traced pass on the two workloads and over the transports."""

    def suite(self, name, **more):
        return json.dumps({"stepgauge": 1, "name": name, "launches": 1, "measure": {"steps": 30}, **more})

    def check_identities(self, record):
        for rank in record["timeline"]["ranks"]:
            for part in [rank, *rank["per_step"]]:
                parts = part["compute_ms"] + part["exposed_comm_ms"] + part["exposed_copy_ms"] + part["idle_ms"]
                self.assertAlmostEqual(parts, part["window_ms"], places=6)

    def value(self, record, metric):
        self.assertIn("value", record["metrics"][metric], f"{record['cell']['id']}: {record['metrics'][metric]}")
        return record["metrics"][metric]["value"]

    def test_every_record_has_the_breakdown_and_tracing_is_cheap(self):
        resnet = {"workload": "resnet50", "batch": 256, "precision": "bf16", "memory_format": "channels_last"}
        llama = {"workload": "llama.1.1b", "batch": 8, "precision": "bf16_pure"}
        code, records = self.run_suite(self.suite("inside", defaults={"device": "cuda"}, include=[resnet, llama]), "inside")
        self.assertEqual(code, 0)
        for record in records:
            self.check_identities(record)
            self.assertLess(self.value(record, "stall_ratio"), 20)
            self.assertLess(self.value(record, "trace_overhead"), 1.02)
            self.assertGreater(self.value(record, "launches_per_step"), 100)
            self.assertFalse(record["settings"]["precision"]["ineffective"])

    @two_gpus
    def test_slower_transports_expose_communication(self):
        ddp = [{"ranks": 2, "transport": name} for name in ("p2p", "p2p_off", "socket")]
        cell = {"device": "cuda", "workload": {"name": "llama.1.1b", "layers": 4}, "batch": 4, "precision": "bf16_pure"}
        code, records = self.run_suite(self.suite("transports", defaults=cell, axes={"ddp": ddp}), "transports")
        self.assertEqual(code, 0)
        exposed = [self.value(record, "exposed_comm") for record in records]
        stall = [self.value(record, "stall_ratio") for record in records]
        self.assertEqual(exposed, sorted(exposed))
        self.assertEqual(stall, sorted(stall))
        self.assertGreater(exposed[2], exposed[0] + 20)
        for record, family in zip(records, ("p2p", "shm", "socket"), strict=True):
            self.assertIn(family, record["settings"]["transport"]["used"])
            self.check_identities(record)
            self.assertGreaterEqual(self.value(record, "rank_skew"), 0)

    def test_without_cupti_timing_still_works(self):
        parts = self.folder / "bin"
        parts.mkdir(exist_ok=True)
        for name in ("stepgauge-worker", "libstepgauge_cuda.so"):
            shutil.copy(BIN / name, parts)
        cell = {"device": "cuda", "workload": "resnet18", "batch": 64}
        code, records = self.run_suite(self.suite("blind", defaults=cell), "blind", "--worker", parts / "stepgauge-worker")
        self.assertEqual(code, 0)
        self.assertGreater(self.value(records[0], "throughput"), 0)
        self.assertIn("CUPTI", records[0]["metrics"]["stall_ratio"]["absent"])

    def test_planted_changes_are_named(self):
        code, _ = self.run_suite(SOURCE / "configs" / "h200_planted.yaml", "planted")
        self.assertEqual(code, 0)
        launches = sorted((self.folder / "planted" / "launches").iterdir())

        def rows(launch):
            return json.loads(self.stepgauge("trace", "diff", launches[0], launch, "--json").stdout)["rows"]

        self.assertEqual(rows(launches[1])[0]["name"], "idle")
        self.assertIn("Memcpy DtoD", next(row["name"] for row in rows(launches[2]) if row["change"] != "idle"))
        appeared = [row["name"] for row in rows(launches[3]) if row["change"] == "appeared"]
        self.assertTrue(any("erfinv" in name for name in appeared), appeared)


class Slowdown(GpuTest):
    def test_a_planted_slowdown_is_caught(self):
        def suite(**more):
            cell = {"device": "cuda", "workload": "resnet18", "batch": 64, "precision": "bf16", "memory_format": "channels_last"}
            return json.dumps({"stepgauge": 1, "name": "planted", "launches": 3, "defaults": {**cell, **more},
                               "measure": {"steps": 50}})

        for name in ("base", "same"):
            self.assertEqual(self.run_suite(suite(), name)[0], 0)
        self.assertEqual(self.run_suite(suite(perturb={"step_percent": "5%"}), "slow")[0], 0)
        self.assertEqual(self.stepgauge("compare", self.folder / "base", self.folder / "same").returncode, 0)
        self.assertEqual(self.stepgauge("compare", self.folder / "base", self.folder / "slow").returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
