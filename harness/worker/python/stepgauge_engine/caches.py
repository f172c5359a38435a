"""The compile caches of a rank: what is in them, and a stamp that says that they are whole and who wrote them."""

import hashlib
import json
import os
import pathlib
import platform

import torch

STAMP = "stamp.json"
SCHEMA = "stepgauge.cache_stamp"
VERSION = 2
# Folder of each kind below the rank's folder; triton and inductor's own may be led elsewhere by a cell's environment.
KINDS = {"inductor": "inductor/fxgraph", "autograd": "inductor/aotautograd", "triton": "triton", "cuda_jit": "cuda"}
SHOWN = 3


class CacheRefused(Exception):
    """A warm cache that is not what a launch of this cell left behind: it must not be used."""


def folder_of_rank() -> pathlib.Path | None:
    value = os.environ.get("STEPGAUGE_CACHE_DIR")
    return pathlib.Path(value) if value else None


def versions(device: torch.device) -> dict[str, str]:
    """What a compiled program depends on besides its source."""
    out = {"torch": torch.__version__, "python": platform.python_version(), "cuda": str(torch.version.cuda)}
    if device.type == "cuda":
        import triton

        out |= {"triton": triton.__version__, "device": torch.cuda.get_device_name(device)}
    else:
        out["device"] = torch.backends.cpu.get_cpu_capability()
    return out


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    """All that is worth keeping: no locks, which every process touches, and not the stamp."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(path for path in found if path.suffix != ".lock" and path != folder / STAMP)


def describe(path: pathlib.Path) -> dict:
    return {"size": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def manifest(folder: pathlib.Path) -> dict[str, dict]:
    return {str(path.relative_to(folder)): describe(path) for path in files(folder)}


class Caches:
    """cold: an empty folder. warm: a stamped one, checked file by file. Neither: PyTorch's usual folders, not looked at."""

    def __init__(self, asked: str, program: str, device: torch.device) -> None:
        self._asked = asked
        self._program = program
        self._device = device
        self._folder = folder_of_rank() if asked else None
        if asked and self._folder is None:
            raise CacheRefused(f"a cell with cache {asked} needs STEPGAUGE_CACHE_DIR, the folder of this rank's caches")
        if asked == "warm":
            self._check()
        elif asked == "cold":
            self._check_empty()
        self._before = self._count()

    def _count(self) -> int | None:
        return None if self._folder is None else len(files(self._folder)) if self._folder.is_dir() else 0

    def _check_empty(self) -> None:
        found = files(self._folder)
        if found:
            raise CacheRefused(f"the cold caches in {self._folder} are not empty: {found[0].relative_to(self._folder)}")

    def _check(self) -> None:
        reason = self._damage()
        if not reason:
            return
        (self._folder / STAMP).unlink(missing_ok=True)
        raise CacheRefused(f"the warm caches in {self._folder} are refused: {reason}")

    def _damage(self) -> str:
        """Why the caches cannot be used; empty when they can."""
        path = self._folder / STAMP
        if not path.is_file():
            return f"no {STAMP}: no launch of this cell filled them to the end"
        try:
            stamp = json.loads(path.read_text())
            described, written_by, program = stamp["files"], stamp["versions"], stamp["program"]
            if (stamp["schema"], stamp["version"]) != (SCHEMA, VERSION):
                return f"{STAMP} has schema {stamp['schema']} version {stamp['version']}, expected {SCHEMA} version {VERSION}"
        except (ValueError, KeyError, TypeError, AttributeError):
            return f"{STAMP} is damaged"
        if program != self._program:
            return f"they were filled by a cell that compiles another program ({program}, here {self._program})"
        if differing := differing_versions(written_by, versions(self._device)):
            return f"they were written with {differing}"
        return differing_files(self._folder, described)

    def stamp(self) -> None:
        """After a launch that went well: by rename, so that there is never half a stamp."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {"schema": SCHEMA, "version": VERSION, "program": self._program, "versions": versions(self._device),
                   "files": manifest(self._folder)}
        temporary = self._folder / (STAMP + ".tmp")
        temporary.write_text(json.dumps(content, indent=1))
        temporary.replace(self._folder / STAMP)

    def report(self, counts: dict[str, int]) -> dict:
        """counts: see watch.cache_counts."""
        return {
            "asked": self._asked,
            "entries_before": self._before,
            "entries_after": self._count(),
            "hits": counts["inductor_hits"] + counts["autograd_hits"],
            "misses": counts["inductor_misses"] + counts["autograd_misses"],
            "counts": counts,
            "kinds": self._kinds(),
        }

    def _kinds(self) -> dict[str, str]:
        """cuDNN's choices live in the process alone, so they are cold in every launch."""
        out = {"cudnn": "per process"} if self._device.type == "cuda" else {}
        if self._folder is None:
            return out
        for kind, below in KINDS.items():
            folder = self._folder / below
            count = len(files(folder)) if folder.is_dir() else 0
            out[kind] = f"{self._asked}, {count} files"
        return out


def differing_versions(written_by: dict, here: dict) -> str:
    """"torch 2.10, here 2.11; ..."; empty when equal."""
    names = sorted(name for name in {*written_by, *here} if written_by.get(name) != here.get(name))
    return "; ".join(f"{name} {written_by.get(name)}, here {here.get(name)}" for name in names)


def differing_files(folder: pathlib.Path, described: dict[str, dict]) -> str:
    """Which files are gone or not as they were; empty when none."""
    wrong = []
    for name, wanted in described.items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif path.stat().st_size != wanted["size"]:
            wrong.append(f"{name} has {path.stat().st_size} bytes instead of {wanted['size']}")
        elif describe(path)["sha256"] != wanted["sha256"]:
            wrong.append(f"{name} has other content")
    more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return ", ".join(wrong[:SHOWN]) + more
