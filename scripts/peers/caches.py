"""The stamp in a cell's compile caches (docs/worker_contract.md): left by a launch that filled them, looked at by one that wants them
warm."""

import json
import os
import pathlib

import torch

from contract import Ineffective

STAMP = "stamp.json"


def folder() -> pathlib.Path | None:
    path = os.environ.get("STEPGAUGE_CACHE_DIR")
    return pathlib.Path(path) if path else None


def sizes(path: pathlib.Path) -> dict[str, int]:
    """Every file but locks and the stamp itself."""
    found = [file for file in path.rglob("*") if file.is_file() and file.suffix != ".lock" and file != path / STAMP]
    return {str(file.relative_to(path)): file.stat().st_size for file in sorted(found)}


def stamp(cell: dict) -> None:
    path = folder()
    if cell.get("cache") != "cold" or path is None:
        return
    path.mkdir(parents=True, exist_ok=True)
    temporary = path / (STAMP + ".tmp")
    temporary.write_text(json.dumps({"peer": True, "cell": cell["hash"], "torch": torch.__version__, "sizes": sizes(path)}))
    temporary.replace(path / STAMP)


def check(cell: dict) -> None:
    """Raises Ineffective for warm caches that are not as they were left; their stamp goes, so that they are filled again."""
    path = folder()
    if cell.get("cache") != "warm" or path is None:
        return
    try:
        left = json.loads((path / STAMP).read_text())
        here = sizes(path)
        good = left["peer"] and left["cell"] == cell["hash"] and left["torch"] == torch.__version__
        good = good and all(here.get(name) == size for name, size in left["sizes"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        good = False
    if not good:
        (path / STAMP).unlink(missing_ok=True)
        raise Ineffective(f"the warm caches in {path} are missing, damaged or of another version")
