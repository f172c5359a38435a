"""The worker contract (docs/worker_contract.md) from a worker's side: what a rank is told, its progress channel, its record. No Torch here,
so that a rank whose Torch does not even import can still say so."""

import contextlib
import datetime
import json
import os
import time

RECORD_VERSION = 1
CELL_VERSION = 1
RECORDED_PREFIXES = ("NCCL_", "TORCH_", "CUDA_", "PYTORCH_", "NVIDIA_", "OMP_", "MKL_", "GLOO_", "CUBLAS", "CUDNN_")


class Unsupported(Exception):
    """A cell that this peer does not do; becomes status `unsupported` with the message as its reason."""


class Ineffective(Exception):
    """A cell that would measure something other than it says; becomes status `ineffective`."""


class ContractError(Exception):
    """What the launcher handed over does not follow the contract."""


def required(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ContractError(f'{name} is not set: a peer is started by `stepgauge run SUITE --worker "..."`, see docs/worker_contract.md')
    return value


def whole_number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ContractError(f'{name}: expected a whole number, found "{text}"') from None


class Rank:
    """What this rank was told in its environment, and its cell."""

    def __init__(self) -> None:
        self.record_path = required("STEPGAUGE_RECORD")
        self.trace_path = os.environ.get("STEPGAUGE_TRACE")
        self.launch = whole_number("STEPGAUGE_LAUNCH", os.environ.get("STEPGAUGE_LAUNCH", "0"))
        self.rank = whole_number("RANK", os.environ.get("RANK", "0"))
        self.world_size = whole_number("WORLD_SIZE", os.environ.get("WORLD_SIZE", "1"))
        self.local_rank = whole_number("LOCAL_RANK", os.environ.get("LOCAL_RANK", str(self.rank)))
        if self.world_size > 1:
            self.master_addr = required("MASTER_ADDR")
            self.master_port = whole_number("MASTER_PORT", required("MASTER_PORT"))
        fd = os.environ.get("STEPGAUGE_STORE_FD")
        self.store_fd = whole_number("STEPGAUGE_STORE_FD", fd) if fd and self.rank == 0 else None
        spawn = os.environ.get("STEPGAUGE_SPAWN_NS")
        self.spawn_ns = whole_number("STEPGAUGE_SPAWN_NS", spawn) if spawn else None
        self.cell = read_cell(required("STEPGAUGE_CELL"))


def read_cell(path: str) -> dict:
    try:
        with open(path, encoding="utf-8") as source:
            cell = json.load(source)
    except (OSError, ValueError) as error:
        raise ContractError(f"{path}: {error}") from None
    if cell.get("schema") != "stepgauge.cell":
        raise ContractError(f"{path}: not a cell document")
    if cell["version"] > CELL_VERSION:
        raise ContractError(f"{path}: cell version {cell['version']}, this peer reads up to {CELL_VERSION}")
    return cell


class Progress:
    """Lines on the launcher's pipe. Never blocks; without a pipe it does nothing but remember the phase."""

    SECONDS_BETWEEN_STEPS = 0.2

    def __init__(self) -> None:
        text, fifo = os.environ.get("STEPGAUGE_PROGRESS_FD"), os.environ.get("STEPGAUGE_PROGRESS_FIFO")
        self._fd = whole_number("STEPGAUGE_PROGRESS_FD", text) if text else None
        if self._fd is None and fifo:
            with contextlib.suppress(OSError):
                self._fd = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._last_step = 0.0
        self.current = "spawn"
        self.step_index = -1
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.set_blocking(self._fd, False)

    def phase(self, name: str) -> None:
        self.current = name
        self._send(f"phase {name}\n")

    def step(self, index: int) -> None:
        self.step_index = index
        now = time.monotonic()
        if now - self._last_step >= self.SECONDS_BETWEEN_STEPS:
            self._last_step = now
            self._send(f"step {index}\n")

    def _send(self, line: str) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):  # a full or closed pipe costs the rank nothing
                os.write(self._fd, line.encode())


class Phases:
    """Seconds of each phase; one ends where the next begins."""

    def __init__(self, progress: Progress, spawn_ns: int | None, started_ns: int) -> None:
        self.seconds = {"spawn": max(0, started_ns - (spawn_ns if spawn_ns is not None else started_ns)) / 1e9}
        self._progress = progress
        self._mark_ns = started_ns
        self._name: str | None = None

    def begin(self, name: str) -> None:
        self.end()
        self._name = name
        self._progress.phase(name)

    def end(self) -> None:
        now = time.monotonic_ns()
        if self._name is not None:
            self.seconds[self._name] = (now - self._mark_ns) / 1e9
            self._mark_ns = now
            self._name = None


def recorded_variables() -> dict[str, str]:
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(RECORDED_PREFIXES)}


def cpu_placement() -> dict:
    cores = sorted(os.sched_getaffinity(0))
    ranges: list[list[int]] = []
    for core in cores:
        if ranges and ranges[-1][1] == core - 1:
            ranges[-1][1] = core
        else:
            ranges.append([core, core])
    text = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
    return {"affinity": text, "cores": len(cores)}


def new_record(rank: Rank) -> dict:
    return {
        "schema": "stepgauge.record",
        "version": RECORD_VERSION,
        "scope": "rank",
        "cell": {"id": rank.cell["id"], "hash": rank.cell["hash"]},
        "launch": rank.launch,
        "rank": rank.rank,
        "world_size": rank.world_size,
        "status": "crashed",
        "reason": "the peer ended early",
        "phases_s": {},
        "step_ms": [],
        "measured_from": 0,
        "first_step_s": None,
        "environment": recorded_variables(),
        "cpu": cpu_placement(),
        "wall": {"started_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")},
    }


def write_record(path: str, record: dict) -> None:
    """Atomically: a reader sees the whole record or none. Raises ValueError for a number that is not finite."""
    text = json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n"
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
