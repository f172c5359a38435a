"""Go's benchstat (golang.org/x/perf/cmd/benchstat) on the launch values that stepgauge compares: which of the two takes longer."""

import json
import pathlib
import resource
import subprocess
import tempfile
from collections.abc import Callable

ROUNDS = 3
SETTING = {"trial": "speed", "cells": 10000, "launches": 10, "nights": 10, "series": 10, "seed": 1}  # x 5 metrics x 2 sides: 1,000,000


def cpu_seconds(command: list) -> float:
    """User and system seconds of a program that must do its work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or "vs base" not in done.stdout:
        raise RuntimeError(f"{command[0]} compared nothing (exit code {done.returncode}): {done.stderr.strip()[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(benchstat: str, run_trial: Callable[[dict], dict]) -> dict:
    """Both on the same values, in turn; the fastest of each, as either waits for other programs at times."""
    seconds: dict[str, list[float]] = {"compare_s": [], "benchstat_s": []}
    with tempfile.TemporaryDirectory(prefix="stepgauge-benchstat-") as folder:
        for _ in range(ROUNDS):
            result = run_trial({**SETTING, "name": "benchstat", "benchmark_text": folder})
            seconds["compare_s"].append(result["compare_s"])
            seconds["benchstat_s"].append(cpu_seconds([benchstat, *(pathlib.Path(folder, side) for side in ("base.txt", "head.txt"))]))
    return {"values": result["compared_values"], "rounds": ROUNDS, **{name: min(values) for name, values in seconds.items()}}


def read(path: pathlib.Path) -> dict | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
