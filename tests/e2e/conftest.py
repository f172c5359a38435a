"""Runs the programs as a user would: in a folder of the test's own, with nothing but arguments, files and exit codes."""

import functools
import json
import os
import pathlib
import shlex
import subprocess
import time

import jsonschema
import pytest

SOURCE = pathlib.Path(os.environ.get("STEPGAUGE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("STEPGAUGE_BIN_DIR", SOURCE / "build" / "bin"))
STEPGAUGE, STUB, WORKER = BIN / "stepgauge", BIN / "stub-worker", BIN / "stepgauge-worker"
OK, REGRESSION, USAGE, FAILED, INCONCLUSIVE, NOT_COMPARABLE = range(6)

SMALL = """\
stepgauge: 1
name: small
launches: 2
defaults: {device: cpu}
axes:
  workload: [llama.tiny, {name: resnet18, width: 8, image: 32}]
  batch: [2, 4]
measure: {steps: 20}
"""


def strict_json(text: str):
    """JSON as the standard has it: Python would take NaN and a key that stands twice."""

    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), f"a key stands twice: {pairs}"
        return dict(pairs)

    def refuse(constant):
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


@functools.cache
def validator(schema: str) -> jsonschema.Draft202012Validator:
    text = subprocess.run([STEPGAUGE, "schema", schema], capture_output=True, text=True, check=True).stdout
    jsonschema.Draft202012Validator.check_schema(strict_json(text))
    return jsonschema.Draft202012Validator(strict_json(text))


def assert_valid(schema: str, value) -> None:
    errors = [f"{error.json_path}: {error.message}"[:400] for error in validator(schema).iter_errors(value)]
    assert not errors, f"not a valid {schema}: {errors[:5]}"


class Done:
    def __init__(self, process: subprocess.CompletedProcess):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def json(self):
        return strict_json(self.out)

    def __repr__(self) -> str:
        return f"exit code {self.code}\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}"


class Workspace:
    """A folder to work in; every path a test gives is relative to it."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def write(self, name: str, text: str) -> str:
        (self.path / name).write_text(text)
        return name

    def __call__(self, *arguments, env: dict | None = None, timeout: float = 60) -> Done:
        return Done(subprocess.run([STEPGAUGE, *map(str, arguments)], cwd=self.path, capture_output=True, text=True,
                                   env={**os.environ, **(env or {})}, timeout=timeout))

    def start(self, *arguments) -> subprocess.Popen:
        return subprocess.Popen([STEPGAUGE, *map(str, arguments)], cwd=self.path, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, suite: str, out: str, *stub_options: str, more: tuple = (), env: dict | None = None) -> Done:
        """A run with the stub worker."""
        return self("run", suite, "--quiet", "--out", out, "--worker", stub(*stub_options), *more, env=env)

    def records(self, out: str) -> list[dict]:
        """The journal of a run; every line of it is a valid launch record."""
        records = [strict_json(line) for line in (self.path / out / "records.jsonl").read_text().splitlines()]
        for record in records:
            assert_valid("record", record)
            assert record["scope"] == "launch"
        return records

    def assert_files_valid(self, out: str) -> None:
        folder = self.path / out
        assert_valid("run", strict_json((folder / "run.json").read_text()))
        assert self.records(out)
        cells = list(folder.glob("launches/*/cell.json"))
        assert cells
        for cell in cells:
            assert_valid("cell", strict_json(cell.read_text()))
        for rank in folder.glob("launches/*/rank*.json"):
            record = strict_json(rank.read_text())
            assert_valid("record", record)
            assert record["scope"] == "rank"

    def left_running(self) -> list[str]:
        """Processes that were started from this folder or know of it; a child that hides its environment keeps the folder."""
        mark, found = str(self.path), []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            if process.name == str(os.getpid()):
                continue
            try:
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
                here = os.readlink(process / "cwd").startswith(mark) or mark.encode() in (process / "environ").read_bytes()
                if here and state != "Z":
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue  # it ended meanwhile
        return found


def stub(*options: str) -> str:
    return shlex.join([str(STUB), *options]).replace("'", '"')


def wait_for(condition, what: str, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.01)


def matches_golden(name: str, text: str) -> None:
    """STEPGAUGE_UPDATE_GOLDEN=1 writes the files anew; look at the difference before committing it."""
    path = pathlib.Path(__file__).parent / "golden" / name
    if os.environ.get("STEPGAUGE_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.fixture
def work(tmp_path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write("small.yaml", SMALL)
    return workspace


class RealRun:
    """A suite run with the real worker into the folder "a". `records` has the last attempt of each launch, in the order of the suite's
    rounds: what else runs on the machine may make a launch unsteady, and then it is made again."""

    def __init__(self, path: pathlib.Path, suite: str, *arguments: str, timeout: float = 300) -> None:
        self.work = Workspace(path)
        self.work.write("suite.yaml", suite)
        self.done = self.work("run", "suite.yaml", "--out", "a", "--quiet", *arguments, timeout=timeout)
        self.folder = path / "a"
        self.records = list({(record["cell"]["id"], record["launch"]): record for record in self.work.records("a")}.values())

    def launch_folder(self, record: dict) -> pathlib.Path:
        return self.folder / record["evidence"]["folder"]

    def of(self, *words: str) -> list[dict]:
        """The launches of the one cell whose id has all the words ("!x": has it not)."""
        def fits(cell_id: str) -> bool:
            return all(word[1:] not in cell_id if word[0] == "!" else word in cell_id for word in words)

        chosen = [record for record in self.records if fits(record["cell"]["id"])]
        assert len({record["cell"]["id"] for record in chosen}) == 1, (words, [record["cell"]["id"] for record in self.records])
        return chosen
