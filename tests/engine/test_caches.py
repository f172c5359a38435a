"""Stamped compile caches: a damaged or foreign one is refused, never used."""

import json
import pathlib

import pytest
import torch

from stepgauge_engine import CacheRefused
from stepgauge_engine.caches import STAMP, Caches

CPU = torch.device("cpu")
NO_COUNTS = dict.fromkeys(("inductor_hits", "inductor_misses", "autograd_hits", "autograd_misses"), 0)


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch) -> pathlib.Path:
    path = tmp_path / "rank0"
    (path / "inductor" / "fxgraph" / "ab").mkdir(parents=True)
    (path / "inductor" / "fxgraph" / "ab" / "entry").write_bytes(b"compiled")
    (path / "inductor" / "locks").mkdir()
    (path / "inductor" / "locks" / "x.lock").touch()
    monkeypatch.setenv("STEPGAUGE_CACHE_DIR", str(path))
    return path


def fill(folder: pathlib.Path) -> None:
    Caches("", "hash", CPU)
    entry = folder / "inductor" / "fxgraph" / "ab" / "entry"
    kept = entry.read_bytes()
    entry.unlink()
    cold = Caches("cold", "hash", CPU)
    entry.write_bytes(kept)
    cold.stamp()


def refused(folder: pathlib.Path, why: str) -> None:
    with pytest.raises(CacheRefused, match=why):
        Caches("warm", "hash", CPU)
    assert not (folder / STAMP).exists()  # the next run fills it anew
    with pytest.raises(CacheRefused, match=f"no {STAMP}"):
        Caches("warm", "hash", CPU)


def test_whole_caches_are_taken(folder: pathlib.Path) -> None:
    fill(folder)
    (folder / "inductor" / "locks" / "y.lock").touch()
    (folder / "inductor" / "added_later").write_text("by a warm launch of the same version")
    report = Caches("warm", "hash", CPU).report(NO_COUNTS)
    assert (report["entries_before"], report["kinds"]["inductor"]) == (2, "warm, 1 files")
    assert list(json.loads((folder / STAMP).read_text())["files"]) == ["inductor/fxgraph/ab/entry"]


def test_no_stamp(folder: pathlib.Path) -> None:
    refused(folder, f"no {STAMP}: no launch of this cell filled them to the end")


def test_other_content(folder: pathlib.Path) -> None:
    fill(folder)
    (folder / "inductor" / "fxgraph" / "ab" / "entry").write_bytes(b"COMPILED")
    refused(folder, "inductor/fxgraph/ab/entry has other content")


def test_cut_file(folder: pathlib.Path) -> None:
    fill(folder)
    (folder / "inductor" / "fxgraph" / "ab" / "entry").write_bytes(b"comp")
    refused(folder, "has 4 bytes instead of 8")


def test_missing_file(folder: pathlib.Path) -> None:
    fill(folder)
    (folder / "inductor" / "fxgraph" / "ab" / "entry").unlink()
    refused(folder, "ab/entry is missing")


def test_another_version(folder: pathlib.Path) -> None:
    fill(folder)
    stamp = json.loads((folder / STAMP).read_text())
    stamp["versions"]["torch"] = "2.10.0"
    (folder / STAMP).write_text(json.dumps(stamp))
    refused(folder, f"written with torch 2.10.0, here {torch.__version__}".replace("+", r"\+"))


def test_another_cell(folder: pathlib.Path) -> None:
    fill(folder)
    with pytest.raises(CacheRefused, match="another program .hash, here other."):
        Caches("warm", "other", CPU)


FOREIGN = '{"schema": "x", "version": 1, "files": {}, "versions": {}, "program": "hash"}'


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', FOREIGN])
def test_damaged_stamp(folder: pathlib.Path, text: str) -> None:
    (folder / STAMP).write_text(text)
    refused(folder, "is damaged|has schema x version 1")


def test_a_cold_folder_must_be_empty(folder: pathlib.Path) -> None:
    with pytest.raises(CacheRefused, match="the cold caches in .* are not empty: inductor/fxgraph/ab/entry"):
        Caches("cold", "hash", CPU)


def test_a_cache_needs_its_folder(monkeypatch) -> None:
    monkeypatch.delenv("STEPGAUGE_CACHE_DIR", raising=False)
    with pytest.raises(CacheRefused, match="needs STEPGAUGE_CACHE_DIR"):
        Caches("cold", "hash", CPU)


def test_without_an_asked_cache_nothing_is_looked_at(folder: pathlib.Path) -> None:
    caches = Caches("", "hash", CPU)
    caches.stamp()
    assert not (folder / STAMP).exists()
    assert caches.report(NO_COUNTS)["entries_before"] is None
