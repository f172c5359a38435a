"""scripts/plot of a history: what changed, since which commit, what somebody said of it, and what is not there."""

import json

import pytest
from conftest import NOTHING, OK, USAGE, assert_png, words_of
from verdicts import MACHINE, SUITE, Nights

A, B = "llama.1.1b.b8/eager/bf16/cuda.ddp2-0a0b0c0d", "resnet50.b256/eager/bf16/cuda.ddp1-11223344"


def draw(plot, nights: Nights):
    nights.write(plot.path)
    return plot("trend.json", "--history", "history", "--out", "out")


def step(day: int, at: int = 40, by: float = 0.96) -> float:
    return 100.0 * (by if day >= at else 1)


@pytest.fixture
def eventful(plot):
    """An alarm of the tip, one of the control build, an acknowledgement, two pins, a gap."""
    nights = Nights(skip=(24, 25, 26)).fill({A: step, B: lambda day: 50.0 if day < 55 else None}, {A: lambda day: 90.0, B: lambda day: 45.0})
    nights.row(A, [nights.alarm(40, -0.04)], creep=-0.05, crept=True)
    nights.row(B, state="vanished", reason="no value for 5 nights: 2 crashed")
    nights.machine_alarms.append({"cell": A, "metric": "throughput", "unit": "tokens/s",
                                  "alarm": nights.alarm(50, -0.03, machine=True, blocks=False)})
    nights.event("acknowledgement", series="llama*:throughput", night=nights.run_id(20), reason="new $loader$, #12", by="ada")
    nights.event("acknowledgement", series="resnet50*:peak_memory", night=nights.run_id(21), reason="another metric", by="bob")
    nights.event("pin", night=nights.run_id(3), name="v1.0")
    nights.event("pin", night=nights.run_id(8), name="v1.1")
    nights.pin = {"night": nights.run_id(8), "name": "v1.1"}
    done = draw(plot, nights)
    assert done.returncode == OK and done.stderr == "", done
    return plot, words_of(plot.path / "out/history.svg")


def test_everything_that_happened_is_told(eventful):
    plot, words = eventful
    for part in (f"history of suite {SUITE} on {MACHINE}", "57 nights, 2026-01-01 to 2026-03-01", "2 series: 1 alarm", "throughput (tokens/s)",
                 "throughput: alarm", "−4 % [−4.5, −3.5 %] from 10 Feb 2026 (◇ seen 12 Feb 2026)", "commits 000000270000..000000280000",
                 "blocks",
                 "C1 control build, sustained: −3 %", "the machine", "acknowledged from 21 Jan 2026 on, by ada: new $loader$, #12",
                 "P1 pin v1.0, 4 Jan 2026", "P2 pin v1.1, 9 Jan 2026; since then −5 % (crept)", "throughput: vanished",
                 "no value for 5 nights: 2 crashed", "control build", "no value", "tolerance"):
        assert part in words.replace("\n", " "), (part, words)
    assert "another metric" not in words, "an acknowledgement of another series is shown"
    assert_png(plot.path / "out/history.png")


def test_what_was_measured_and_what_the_weekly_search_found(plot):
    nights = Nights().fill({A: step, B: lambda day: 50.0 if day < 45 else 48.8})
    measured = {"verdict": "not confirmed", "reason": "", "last_good": nights.night(39), "first_bad": nights.night(40), "pairs": 15,
                "change": -0.001, "ci_lower": -0.004, "ci_upper": 0.002, "at": "2026-03-02T00:00:00Z", "attempts": 1}
    nights.row(A, [nights.alarm(40, -0.04, confirmation=measured, blocks=False)])
    nights.row(B)
    nights.changes = [{"cell": B, "metric": "throughput", "unit": "tokens/s", "direction": "worse", "night": nights.run_id(45),
                       "last_good": nights.night(44), "first_bad": nights.night(45), "before": 50.0, "after": 48.8, "size": -0.024,
                       "ci_lower": -0.03, "ci_upper": -0.02}]
    nights.event("confirmation", cell=A, metric="throughput", last_good={"night": nights.run_id(39), "commit": "c"},
                 first_bad={"night": nights.run_id(40), "commit": "d"}, alarm_size=-0.04, verdict="not confirmed", reason="", pairs=15,
                 change=-0.001, ci_lower=-0.004, ci_upper=0.002, folder="")
    done = draw(plot, nights)
    assert done.returncode == OK and done.stderr == "", done
    words = words_of(plot.path / "out/history.svg").replace("\n", " ")
    for part in ("not confirmed by 15 pairs: −0.1 % [−0.4, +0.2 %]", "W1 change: −2.4 % [−3, −2 %] from 15 Feb 2026", "W: found by the weekly search"):
        assert part in words, (part, words)


def test_the_series_that_need_a_person_come_first(plot):
    nights = Nights(40).fill({f"quiet{index}/x-{index:08x}": lambda day: 100.0 for index in range(9)} | {A: step})
    for index in range(9):
        nights.row(f"quiet{index}/x-{index:08x}")
    nights.row(A, [nights.alarm(30, -0.04)])
    done = draw(plot, nights)
    assert done.returncode == OK, done
    assert {path.stem for path in (plot.path / "out").glob("*.svg")} == {"history", "history-2"}
    first = words_of(plot.path / "out/history.svg")
    assert first.index("llama") < first.index("quiet0") and "page 1 of 2" in first


def test_a_long_history_says_what_it_leaves_out(plot):
    import documents
    import trends
    nights = Nights(2)
    for index in range(trends.MOST_SERIES + 2):
        nights.row(f"c{index}/x-{index:08x}", state="shown")
    history = documents.History(nights.trend, plot.path, [], [], [])
    assert trends.left_out(history).startswith("2 of 50 series are not drawn, none of them in alarm")
    history.trend["rows"].pop()
    history.trend["rows"].pop()
    assert trends.left_out(history) == ""


def test_names_in_a_document_choose_no_path(plot):
    nights = Nights(12).fill({A: step})
    nights.row(A)
    nights.write(plot.path)
    trend = nights.trend | {"suite": "../../out"}
    (plot.path / "trend.json").write_text(json.dumps({"histories": [trend, trend], "exit_code": 1}))
    done = plot("trend.json", "--history", plot.path / "history" / MACHINE / f"{SUITE}.jsonl", "--out", "deep/out")
    assert done.returncode == OK, done
    assert all((plot.path / line).parent == plot.path / "deep/out" for line in done.stdout.split()), done


def test_tip_against_the_control_build(plot):
    machine = lambda day: 100.0 * (0.9 if day >= 30 else 1)  # noqa: E731: both builds are slower from then on
    nights = Nights().fill({A: machine}, {A: lambda day: 0.97 * machine(day)})
    nights.row(A, against_reference=True)
    assert draw(plot, nights).returncode == OK
    assert "against the control build" in words_of(plot.path / "out/history.svg")
    import documents
    import nights as series
    import trends
    history = documents.history_of(nights.trend, plot.path / "history")
    (one,) = series.series_of(history, nights.rows)
    ((begin, end, level),) = trends.levels(one)
    assert (begin, end) == (0, 60) and level == pytest.approx(1 / 0.97, rel=0.01), "the machine is taken for the program"
    assert trends.expected(one, level)[45] == pytest.approx(90.0, rel=0.02)


def test_gaps_are_within_the_series_and_at_its_end(plot):
    import documents
    import nights as series
    import trends
    nights = Nights(30, skip=(10, 11)).fill({A: lambda day: None if 5 <= day <= 6 or day > 26 else 100.0})
    nights.row(A)
    nights.write(plot.path)
    (one,) = series.series_of(documents.history_of(nights.trend, plot.path / "history"), nights.rows)
    assert [(begin.day - 1, end.day - 1) for begin, end in trends.gaps(one)] == [(4, 7), (9, 12), (26, 29)]


def test_one_night_alone_and_odd_values(plot):
    nights = Nights(1).fill({A: lambda day: 100.0})
    nights.row(A, state="shown", change=None, threshold=None, noise=None)
    done = draw(plot, nights)
    assert done.returncode == OK and done.stderr == "", done
    assert_png(plot.path / "out/history.png")


def test_a_wild_night_does_not_press_the_others_into_one_line(plot):
    nights = Nights().fill({A: lambda day: 1000.0 if day == 30 else 100.0})
    nights.row(A)
    nights.write(plot.path)
    import documents
    import nights as series
    import trends
    (one,) = series.series_of(documents.history_of(nights.trend, plot.path / "history"), nights.rows)
    low, high = trends.limits(one.values(one.tip), [98.0, 102.0])
    assert 90 < low < 98 and 102 < high < 110


def test_the_same_history_makes_the_same_bytes(eventful):
    plot, _ = eventful
    assert plot("trend.json", "--history", "history", "--out", "two").returncode == OK
    for path in (plot.path / "out").iterdir():
        assert path.read_bytes() == (plot.path / "two" / path.name).read_bytes(), path.name


def test_a_file_that_is_not_the_trends_own(plot):
    nights = Nights(12).fill({A: step})
    nights.row(A)
    assert draw(plot, nights).returncode == OK
    done = plot("trend.json", "--out", "out")
    assert done.returncode == USAGE and "--history names the folder" in done.stderr, done
    path = plot.path / "history" / MACHINE / f"{SUITE}.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    done = plot("trend.json", "--history", path, "--out", "out")
    assert done.returncode == USAGE and "has no night 20260112T020000Z-00000001" in done.stderr, done
    path.write_text("\n".join([lines[0], "{", *lines[1:]]) + "\n")
    done = plot("trend.json", "--history", path, "--out", "out")
    assert done.returncode == USAGE and f"{SUITE}.jsonl:2: not JSON" in done.stderr, done


def test_no_series_is_not_success(plot):
    (plot.path / "trend.json").write_text(json.dumps({"histories": [], "exit_code": 5}))
    done = plot("trend.json")
    assert done.returncode == NOTHING and "no series" in done.stderr, done
