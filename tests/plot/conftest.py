"""Made-up launch records, and scripts/plot as a user calls it."""

import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

SOURCE = pathlib.Path(os.environ.get("STEPGAUGE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "scripts" / "figures"))
OK, USAGE, NOTHING = 0, 2, 3


def launch(cell: str, index: int = 0, status: str = "ok", steps: int = 60, ms: float = 50.0, **more) -> dict:
    """A launch record as the CLI writes it, as far as a figure looks."""
    record = {"schema": "stepgauge.record", "version": 1, "scope": "launch", "cell": {"id": cell, "hash": "0" * 8},
              "suite": "plots", "launch": index, "attempt": 1, "status": status, "reason": "", "started_at": "",
              "duration_s": 1.0, "perturbed": False,
              "metrics": {"stall_ratio": {"absent": "no traced pass was asked for"}}}
    if steps:
        noise = random.Random(f"{cell}{index}")
        times = [ms * noise.gauss(1, 0.01) for _ in range(steps)]
        times[:3] = [40 * ms, 2 * ms, 1.2 * ms]
        record |= {"samples": {"step_ms": times}, "window": {"begin": 12, "end": steps, "steady": True}}
    return record | more


def rank(number: int, compute: float, comm: float, copy: float, idle: float) -> dict:
    return {"rank": number, "window_ms": compute + comm + copy + idle, "compute_ms": compute, "exposed_comm_ms": comm,
            "exposed_copy_ms": copy, "idle_ms": idle}


def phase(name: str, allocated: float, peak: float, reserved: float) -> dict:
    return {"phase": name, "allocated_mib": allocated, "peak_mib": peak, "reserved_mib": reserved}


PHASES = [phase("zero_grad", 4000, 4200, 30000), phase("forward", 21000, 22500, 30000),
          phase("backward", 6000, 24800, 30000), phase("optimizer", 4100, 7000, 30000)]


def words_of(path) -> str:
    """The text of an SVG, which is well-formed XML."""
    return " ".join("".join(item.itertext()).strip() for item in ElementTree.parse(path).iter()
                    if item.tag.endswith("}text"))


def assert_png(path) -> None:
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    assert 400 < width < 4000 and 200 < height < 6000, (width, height)


class Plot:
    def __init__(self, path: pathlib.Path):
        self.path = path

    def write(self, *records: dict, name: str = "run") -> pathlib.Path:
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder

    def __call__(self, *arguments, env: dict | None = None) -> subprocess.CompletedProcess:
        variables = {**os.environ, "STEPGAUGE_PYTHON": sys.executable, **(env or {})}
        return subprocess.run([SOURCE / "scripts/plot", *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.path, timeout=120, env=variables)


@pytest.fixture
def plot(tmp_path) -> Plot:
    return Plot(tmp_path)
