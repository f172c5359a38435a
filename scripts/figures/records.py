"""Launch records of a run folder or a file of results, one cell after the other."""

import dataclasses
import json
import pathlib


class Unreadable(Exception):
    """What a user named cannot be read; says why."""


@dataclasses.dataclass
class Cell:
    id: str
    launches: list[dict] = dataclasses.field(default_factory=list)  # the last attempt of each, by launch

    @property
    def ok(self) -> list[dict]:
        return [launch for launch in self.launches if launch["status"] == "ok"]

    @property
    def why_nothing(self) -> str:
        """Of a cell without a launch that is ok."""
        last = self.launches[-1]
        return f"{last['status']}: {last.get('reason') or 'no reason given'}"


def records_path(path: pathlib.Path) -> pathlib.Path:
    return path / "records.jsonl" if path.is_dir() else path


def launch_records(path: pathlib.Path) -> list[dict]:
    """Every launch record of the file; other lines (a baseline's header, rank records) are passed over."""
    try:
        lines = records_path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    out = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break  # torn: the run was killed while it wrote
            raise Unreadable(f"{records_path(path)}:{number}: not JSON: {error}") from error
        if isinstance(record, dict) and record.get("schema") == "stepgauge.record" and record.get("scope") == "launch":
            out.append(record)
    return out


def cells_of(records: list[dict]) -> list[Cell]:
    """In the order in which they were first launched."""
    attempts: dict[str, dict[int, dict]] = {}
    for record in records:
        if record.get("warm_up"):
            continue
        kept = attempts.setdefault(record["cell"]["id"], {})
        before = kept.get(record["launch"])
        if before is None or record["attempt"] >= before["attempt"]:
            kept[record["launch"]] = record
    return [Cell(name, [kept[launch] for launch in sorted(kept)]) for name, kept in attempts.items()]


def step_ms(launch: dict) -> list[float]:
    return launch.get("samples", {}).get("step_ms", [])


def window(launch: dict) -> tuple[int, int] | None:
    """Steady steps [begin, end); None when there are none."""
    found = launch.get("window", {})
    begin, end = found.get("begin"), found.get("end")
    return (begin, end) if found.get("steady", True) and begin is not None and end is not None and begin < end else None


def memory_phases(launch: dict) -> list[dict]:
    """Phases of one step in order: of the launch, else of the rank whose peak is the largest."""
    candidates = [launch.get("memory", {}).get("phases")]
    candidates += [rank.get("memory", {}).get("phases") for rank in launch.get("ranks", [])]
    return max((phases for phases in candidates if phases), key=lambda phases: max(map(peak_of, phases)), default=[])


def peak_of(phase: dict) -> float:
    return max((phase[key] for key in ("peak_mib", "allocated_mib") if phase.get(key) is not None), default=0.0)
