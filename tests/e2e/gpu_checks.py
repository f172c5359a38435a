"""The product on real GPUs, from outside. unittest, so that a machine with nothing but Torch can run it. Label gpu.

Two GPUs are needed for most of it; what a machine lacks is skipped by name. STEPGAUGE_GPU_OUT keeps the runs."""

import json
import os
import pathlib
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
        """The run's exit code and its launch records in order."""
        if isinstance(suite, str):
            path = self.folder / f"{name}.yaml"
            path.write_text(suite)
        else:
            path = suite
        out = self.folder / name
        done = self.stepgauge("run", path, "--out", out, "--quiet", *more)
        lines = (out / "records.jsonl").read_text().splitlines()
        return done.returncode, [json.loads(line) for line in lines]


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


class Overhead(GpuTest):
    """The loop of the harness against a bare loop over the same program: 1.000 +- 0.003."""

    def ratio(self, workload, batch, **more):
        suite = {"stepgauge": 1, "name": "overhead", "launches": 1,
                 "defaults": {"device": "cuda", "workload": workload, "batch": batch, **more}, "measure": {"steps": 30}}
        self.assertEqual(self.run_suite(json.dumps(suite), workload)[0], 0)
        cell = next((self.folder / workload / "launches").glob("*/cell.json"))
        done = subprocess.run([BIN / "bench_step_overhead", cell, "8"], capture_output=True, text=True, timeout=300)
        print(done.stdout, done.stderr, flush=True)
        return json.loads(done.stdout)["ratio"]

    @unittest.skipUnless((BIN / "bench_step_overhead").exists(), "built without Google Benchmark")
    def test_resnet50(self):
        ratio = self.ratio("resnet50", 256, precision="bf16", memory_format="channels_last")
        self.assertAlmostEqual(ratio, 1, delta=0.003)

    @unittest.skipUnless((BIN / "bench_step_overhead").exists(), "built without Google Benchmark")
    def test_llama(self):
        self.assertAlmostEqual(self.ratio("llama.1.1b", 8, precision="bf16_pure"), 1, delta=0.003)


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
