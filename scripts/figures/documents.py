"""What the figures of verdicts read: gate.json, compare --json, history show --json, and the history's own file."""

import dataclasses
import json
import pathlib
import sys

from records import Unreadable

GATE, COMPARISON, TREND, HISTORY = "stepgauge.gate", "stepgauge.comparison", "stepgauge.trend", "stepgauge.history"
VERSION = 1


@dataclasses.dataclass
class Effects:
    """Rows of a gate or of a comparison, as they stand in its JSON."""
    value: dict

    @property
    def gate(self) -> bool:
        return self.value["schema"] == GATE


@dataclasses.dataclass
class History:
    """One trend of `history show --json`, and the lines of the file that it was judged from."""
    trend: dict
    path: pathlib.Path
    nights: list[dict]  # in the trend's order
    acknowledgements: list[dict]
    pins: list[dict]


def text_of(path: pathlib.Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def checked(path: pathlib.Path, value: dict, known: tuple) -> dict:
    if value.get("schema") not in known:
        raise Unreadable(f"{path}: not a file of {' or '.join(known)}")
    if value.get("version") != VERSION:
        raise Unreadable(f"{path}: version {value.get('version')} of {value['schema']}, this program knows {VERSION}")
    return value


def document_of(path: pathlib.Path) -> dict | None:
    """The one JSON object that the path is, or None: a run folder, a journal of lines. A gate's folder is its gate.json."""
    if path.is_dir():
        path = path / "gate.json"
        if not path.exists():
            return None
    elif path.suffix == ".jsonl":
        return None
    text = text_of(path)
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Unreadable(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable(f"{path}: not the JSON of a gate, a comparison or a trend")
    return value


def effects(path: pathlib.Path, value: dict) -> Effects:
    return Effects(checked(path, value, (GATE, COMPARISON)))


def history_lines(path: pathlib.Path) -> list[dict]:
    """Every line of a history file; a last line that was cut off by a crash is left out, as `history` leaves it out."""
    lines, out = text_of(path).splitlines(), []
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise Unreadable(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(value, dict):
            raise Unreadable(f"{path}:{number}: not a line of {HISTORY}")
        out.append(checked(pathlib.Path(f"{path}:{number}"), value, (HISTORY,)))
    return out


def history_of(trend: dict, folder: pathlib.Path) -> History:
    """The file below `folder` that the trend names; every night of the trend must be in it."""
    path = folder if folder.is_file() else folder / trend["machine"] / f"{trend['suite']}.jsonl"
    if not path.is_file():
        raise Unreadable(f"{path}: no such history file; --history names the folder that `history show` read")
    lines = history_lines(path)
    nights = {line["tip"]["run"]: line for line in lines if line["kind"] == "night"}
    for night in trend["nights"]:
        if night["run"] not in nights:
            raise Unreadable(f"{path}: has no night {night['run']} that the trend has; it is of another history, or older")
    return History(trend, path, [nights[night["run"]] for night in trend["nights"]],
                   [line for line in lines if line["kind"] == "acknowledgement"],
                   [line for line in lines if line["kind"] == "pin"])


def histories(path: pathlib.Path, value: dict, folder: pathlib.Path) -> list[History]:
    """Of `history show --json`, which holds one trend for each suite and machine, or of one trend of it."""
    trends = value["histories"] if isinstance(value.get("histories"), list) else [value]
    return [history_of(checked(path, trend, (TREND,)), folder) for trend in trends]
