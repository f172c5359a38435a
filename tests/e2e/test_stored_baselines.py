"""Stored baselines: sessions, age, integrity, and what replaces them."""

import datetime
import hashlib
import json

import pytest
from conftest import FAILED, INCONCLUSIVE, NOT_COMPARABLE, OK, REGRESSION, SMALL, USAGE, Workspace, assert_valid, strict_json

NOISE = ("--noise", "0.5%", "--seed-from-launch")
LOUD = "resnet18.image32.width8.b4/eager/fp32/cpu.ddp1"


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Six runs of four launches, each of its own session, and one that is 30 % slower in one cell."""
    work = Workspace(tmp_path_factory.mktemp("nights"))
    work.write("small.yaml", SMALL)
    for number in range(6):
        assert work.run("small.yaml", f"n{number}", *NOISE, "--seed", str(number), more=("--launches", "4")).code == OK
    assert work.run("small.yaml", "b", *NOISE, "--seed", "77", more=("--launches", "4")).code == OK
    slow = (*NOISE, "--seed", "78", "--slow-if", f"{LOUD}*:30")
    assert work.run("small.yaml", "slow", *slow, more=("--launches", "4")).code == OK
    return work


def baseline_file(work: Workspace, root: str):
    (path,) = (work.path / root).glob("*/small.jsonl")
    return path


def header_of(path) -> dict:
    header = strict_json(path.read_text().splitlines()[0])
    assert_valid("baseline", header)
    return header


def rewritten(path, change) -> None:
    """The file with another header and a digest that fits: what this program would have written at another time."""
    first, _, rest = path.read_text().partition("\n")
    header = json.loads(first)
    change(header)
    header.pop("digest", None)
    text = json.dumps(header, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    header["digest"] = hashlib.sha256((text + "\n" + rest).encode()).hexdigest()
    path.write_text(json.dumps(header, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n" + rest)


def test_little_history_shows_and_never_blocks(nights):
    assert nights("baseline", "save", "n0", "--baselines", "one").code == OK
    done = nights("compare", "baseline:small", "slow", "--baselines", "one", "--json")
    assert done.code == INCONCLUSIVE, done
    assert_valid("comparison", done.json)
    (worse,) = [row for row in done.json["rows"] if row["blocking"] and row["verdict"] == "inconclusive"]
    assert worse["base_sessions"] == 1 and worse["ci_upper"] < -0.2 and "1 of 5 sessions" in worse["reason"]
    assert nights("compare", "baseline:small", "b", "--baselines", "one").code == OK
    assert nights("compare", "n0", "slow").code == REGRESSION, "two runs are compared as they were"


def test_merged_sessions_block(nights):
    assert nights("baseline", "merge", "n0", "n1", "--baselines", "six").code == OK
    done = nights("baseline", "merge", "n2", "n3", "n4", "n5", "--baselines", "six")
    assert done.code == OK and "it has 6 sessions" in done.out, done
    header = header_of(baseline_file(nights, "six"))
    assert len(header["sessions"]) == 6 and header["replaced"]["rows"] and header["reason"] == "sessions added"
    for line in baseline_file(nights, "six").read_text().splitlines()[1:]:
        assert_valid("record", strict_json(line))
    assert nights("compare", "baseline:small", "slow", "--baselines", "six").code == REGRESSION
    passed = nights("compare", "baseline:small", "b", "--baselines", "six", "--json")
    assert passed.code == OK and passed.json["base"]["sessions"] == 6, passed
    assert "6 sessions" in nights("baseline", "show", "--baselines", "six").out
    twice = nights("baseline", "merge", "n3", "--baselines", "six")
    assert twice.code == USAGE and "counts once" in twice.err, twice


def test_what_cannot_be_merged(nights):
    assert nights.run("small.yaml", "broken", "--mode", "die", more=("--launches", "2")).code == FAILED
    done = nights("baseline", "merge", "n0", "broken", "--baselines", "never")
    assert done.code == FAILED and "no launch is ok" in done.err, done
    nights.write("other.yaml", SMALL.replace("name: small", "name: other"))
    assert nights.run("other.yaml", "other", *NOISE).code == OK
    done = nights("baseline", "merge", "n0", "other", "--baselines", "never")
    assert done.code == USAGE and "cannot be one baseline" in done.err and not (nights.path / "never").exists(), done


def test_a_worse_session_is_not_merged_without_a_reason(nights):
    assert nights("baseline", "save", "n0", "--baselines", "w").code == OK
    path = baseline_file(nights, "w")
    before = path.read_bytes()
    done = nights("baseline", "merge", "slow", "--baselines", "w")
    assert done.code == USAGE and "worse than the baseline" in done.err and path.read_bytes() == before, done
    done = nights("baseline", "merge", "slow", "--baselines", "w", "--accept", "known, #12")
    assert done.code == OK and "worse than before, accepted: known, #12" in done.out, done
    assert [row["cell"].rpartition("-")[0] for row in header_of(path)["replaced"]["rows"] if row["worse"]] == [LOUD]


def test_saving_over_one_keeps_old_and_new(nights):
    assert nights("baseline", "save", "n0", "--baselines", "s").code == OK
    done = nights("baseline", "save", "slow", "--baselines", "s", "--accept", "known")
    assert done.code == OK and "base" in done.out and LOUD in done.out and "1 rows are worse" in done.out, done
    rows = header_of(baseline_file(nights, "s"))["replaced"]["rows"]
    (worse,) = [row for row in rows if row["worse"]]
    assert worse["metric"] == "throughput" and worse["new"] / worse["old"] == pytest.approx(1 / 1.3, rel=0.05)


def test_an_expired_baseline(nights):
    assert nights("baseline", "save", "n0", "--baselines", "old").code == OK
    path = baseline_file(nights, "old")
    month = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    rewritten(path, lambda header: header.update(expires_at=month))
    done = nights("compare", "baseline:small", "b", "--baselines", "old")
    assert done.code == NOT_COMPARABLE and "expired on" in done.out and "baseline merge" in done.out, done
    assert nights("compare", "baseline:small", "b", "--baselines", "old", "--allow-expired").code == OK
    assert nights("baseline", "diff", "b", "--baselines", "old").code == NOT_COMPARABLE
    assert "EXPIRED" in nights("baseline", "show", "--baselines", "old").out
    assert nights("baseline", "merge", "n1", "--baselines", "old").code == OK, "a new session makes it new"
    assert nights("compare", "baseline:small", "b", "--baselines", "old").code == OK


def test_a_baseline_that_was_edited(nights):
    assert nights("baseline", "save", "n0", "--baselines", "e").code == OK
    path = baseline_file(nights, "e")
    good = path.read_text()
    value = str(json.loads(good.splitlines()[1])["metrics"]["throughput"]["value"])
    bad = {"digest does not fit": good.replace(value, "99" + value, 1), "NaN": good.replace(value, "NaN", 1),
           "stands twice": good + good.splitlines()[-1] + "\n", "newer stepgauge": good.replace('"version":1}\n', '"version":9}\n', 1)}
    for words, text in bad.items():
        path.write_text(text)
        done = nights("compare", "baseline:small", "b", "--baselines", "e")
        assert done.code == USAGE and "small.jsonl" in done.err and (words in done.err or words == "NaN"), done
    repaired = nights("baseline", "save", "n1", "--baselines", "e", "--accept", "the file was damaged")
    assert repaired.code == OK and "cannot be read" in repaired.err, repaired
    assert nights("compare", "baseline:small", "b", "--baselines", "e").code == OK


def test_one_launch_and_none(nights):
    assert nights.run("small.yaml", "single", *NOISE, more=("--launches", "1")).code == OK
    done = nights("baseline", "save", "single", "--baselines", "few")
    assert done.code == OK and "fewer than two ok launches" in done.err, done
    assert nights("compare", "baseline:small", "b", "--baselines", "few").code == INCONCLUSIVE


def test_values_that_never_differ_are_noted(nights):
    for name in ("same1", "same2"):
        assert nights.run("small.yaml", name, more=("--launches", "3")).code == OK
    done = nights("compare", "same1", "same2")
    assert done.code == OK and "the same value in every launch" in done.out.replace("\n    ", " "), done
