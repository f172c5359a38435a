"""What the program itself writes can be drawn: a gate's folder, a comparison and a history."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import OK, SOURCE, assert_png, words_of

BIN = pathlib.Path(os.environ.get("STEPGAUGE_BIN_DIR", SOURCE / "build" / "bin"))
SUITE = """\
stepgauge: 1
name: drawn
launches: 3
defaults: {device: cpu, workload: llama.tiny}
axes: {batch: [2, 4]}
measure: {steps: 20}
"""
STUB = f"{BIN / 'stub-worker'} --noise 0.5% --seed-from-launch"
SLOW = f"{STUB} --seed 7 --slow-if llama.tiny.b4*:8"

pytestmark = pytest.mark.skipif(not (BIN / "stepgauge").exists(), reason="the program is not built")


@pytest.fixture
def stepgauge(plot):
    (plot.path / "drawn.yaml").write_text(SUITE)

    def call(*arguments, code: int = OK) -> str:
        done = subprocess.run([BIN / "stepgauge", *arguments], cwd=plot.path, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done
        return done.stdout
    return call


def test_a_gate_that_blocks(plot, stepgauge):
    stepgauge("gate", "drawn.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--base", f"worker:{STUB}", "--head", f"worker:{SLOW}", code=1)
    done = plot("g")
    assert done.returncode == OK and done.stderr == "", done
    words = words_of(plot.path / "g/plots/effects.svg")
    (slow,) = (row for row in json.loads((plot.path / "g/gate.json").read_text())["rows"] if row["verdict"] == "regressed")
    for part in ("gate of suite drawn: REGRESSED (exit code 1)", slow["cell"], f"{100 * slow['change']:.1f}".replace("-", "−"), "peak_memory"):
        assert part in words, (part, words)
    assert_png(plot.path / "g/plots/effects.png")


def test_a_comparison_and_a_history(plot, stepgauge):
    stepgauge("run", "drawn.yaml", "--quiet", "--out", "a", "--worker", STUB)
    stepgauge("run", "drawn.yaml", "--quiet", "--out", "b", "--worker", SLOW)
    (plot.path / "c.json").write_text(stepgauge("compare", "a", "b", "--json", code=1))
    assert plot("c.json").returncode == OK
    assert "comparison of suite drawn: REGRESSED" in words_of(plot.path / "c.plots/effects.svg")
    stepgauge("history", "add", "a", "--to", "h", "--commit", "0" * 40)
    (plot.path / "t.json").write_text(stepgauge("history", "show", "h", "--json", code=5))
    done = plot("t.json", "--history", "h")
    assert done.returncode == OK and done.stderr == "", done
    assert "throughput: shown" in words_of(plot.path / "t.plots/history.svg")
