"""scripts/plot of gates and comparisons: every verdict is told apart, many rows stay legible, bad files get a clear error."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from conftest import NOTHING, OK, SOURCE, USAGE, assert_png, words_of
from verdicts import comparison, effect, gate

A, B, C = "llama.1.1b.b8/eager/bf16/cuda.ddp2-0a0b0c0d", "resnet50.b256/eager/bf16/cuda.ddp1-11223344", "gpt.b1/x-99aabbcc"
VERMILION, BLUE, GREEN, ORANGE = "#d55e00", "#0072b2", "#009e73", "#e69f00"


def draw(plot, value: dict, *more):
    (plot.path / "value.json").write_text(json.dumps(value))
    return plot("value.json", "--out", "out", *more)


def svg(plot, name: str = "effects") -> str:
    return (plot.path / f"out/{name}.svg").read_text().lower()


def marks(plot, colour: str, face: str) -> int:
    """Markers with this edge and this face."""
    return sum(f"fill: {face}" in style and f"stroke: {colour}" in style
               for item in ElementTree.parse(plot.path / "out/effects.svg").iter() for style in [item.get("style", "").lower()])


def test_a_gate_folder(plot):
    folder = plot.path / "g"
    folder.mkdir()
    (folder / "gate.json").write_text(json.dumps(gate([effect(A, metric) for metric in ("throughput", "init_latency", "peak_memory")])))
    done = plot("g")
    assert done.returncode == OK and done.stderr == "", done
    assert sorted(done.stdout.split()) == ["g/plots/effects.png", "g/plots/effects.svg"]
    assert_png(folder / "plots/effects.png")
    words = words_of(folder / "plots/effects.svg")
    for part in ("gate of suite nightly: REGRESSED (exit code 1)", "throughput", "init_latency", "change (%), ← worse",
                 "change (%), worse →", A, "tolerance", "(MDE)", "head: /builds/change + env:A=$1"):
        assert part in words, (part, words)


def test_every_verdict_has_its_colour_and_what_does_not_pass_its_number(plot):
    rows = [effect(A, change=-0.071, verdict="regressed", stage="confirm"), effect(B, change=0.052, verdict="improved", stage="confirm"),
            effect(C, change=-0.013, verdict="inconclusive"), effect("pass/x-12345678", change=0.0004)]
    assert draw(plot, gate(rows)).returncode == OK
    words = words_of(plot.path / "out/effects.svg")
    for part in ("regressed", "improved", "inconclusive", "pass", "−7.1", "+5.2", "−1.3"):
        assert part in words, (part, words)
    assert "+0.0" not in words, "what passes has no number of its own"
    for colour in (VERMILION, BLUE, GREEN, ORANGE):
        assert colour in svg(plot), colour


def test_what_is_confirmed_is_filled_and_what_is_not_is_hollow(plot):
    assert draw(plot, gate([effect(A, stage="confirm", verdict="regressed", change=-0.05), effect(B)])).returncode == OK
    assert marks(plot, VERMILION, VERMILION) and not marks(plot, VERMILION, "#ffffff"), "the confirmed row looks unconfirmed"
    assert marks(plot, GREEN, "#ffffff"), "the row of the screen alone looks confirmed"
    words = words_of(plot.path / "out/effects.svg")
    assert "confirmed on new pairs, or exact" in words and "of the screen alone" in words


def test_a_comparison_has_no_stages_and_advisory_metrics_come_last(plot):
    done = draw(plot, comparison([effect(A, "peak_memory", blocking=False), effect(A)]))
    assert done.returncode == OK, done
    words = words_of(plot.path / "out/effects.svg")
    assert "comparison of suite nightly" in words and "base: baseline:nightly; head: runs/b" in words
    assert words.index("throughput") < words.index("peak_memory (advisory)")
    assert "of the screen alone" not in words


def test_rows_without_numbers_say_why(plot):
    rows = [effect(A, change=None, verdict="missing", reason="head has no value: not reported"),
            effect(B, "launches", change=None, verdict="regressed", reason="head: 2 of 5 launches failed, first: crashed"), effect(B)]
    assert draw(plot, gate(rows)).returncode == OK
    words = words_of(plot.path / "out/effects.svg")
    assert "missing: head has no value: not reported" in words and "launches: regressed: head: 2 of 5 launches failed" in words


def test_cells_alone_without_any_metric(plot):
    done = draw(plot, gate([effect(A, "cell", change=None, verdict="missing", reason="the cell is in base only")]))
    assert done.returncode == OK and done.stderr == "", done
    assert "cell: missing: the cell is in base only" in words_of(plot.path / "out/effects.svg")


def test_many_rows_take_several_pages_with_the_worst_first(plot):
    rows = [effect(f"cell{index}/eager/bf16/cuda.ddp1-{index:08x}", metric) for index in range(70) for metric in ("throughput", "init_latency")]
    rows[-2] |= {"verdict": "regressed", "change": -0.08, "stage": "confirm"}
    done = draw(plot, gate(rows))
    assert done.returncode == OK, done
    assert {path.stem for path in (plot.path / "out").glob("*.svg")} == {"effects", "effects-2", "effects-3"}
    assert "cell69/" in words_of(plot.path / "out/effects.svg") and "page 1 of 3" in words_of(plot.path / "out/effects.svg")
    everything = " ".join(words_of(path) for path in (plot.path / "out").glob("*.svg"))
    assert all(f"cell{index}/" in everything for index in range(70)), "a cell is on no page"
    for path in (plot.path / "out").glob("*.png"):
        assert_png(path)


def test_long_ids_are_shortened_as_the_tables_do(plot):
    long = "llama.1.1b.layers4.b8.s2048/compile.max-autotune-no-cudagraphs/bf16_pure/ckpt.selective/cuda.ddp8-0badcafe"
    assert draw(plot, gate([effect(long, perturbed=True)])).returncode == OK
    words = words_of(plot.path / "out/effects.svg")
    assert "* llama.1.1b" in words and ".." in words and "-0badcafe" in words and long not in words


def test_shorten_middle_is_that_of_the_tables():
    import look

    assert look.shorten_middle("abcdefghij", 10, 3) == "abcdefghij"
    assert look.shorten_middle("abcdefghijk", 10, 3) == "abcd..hijk"
    assert look.shorten_middle("resnet/eager-0a0b0c0d", 16, 9) == "resne..-0a0b0c0d"
    assert look.shorten_middle("abcdefghij", 5, 3) == "fghij"


def test_an_effect_beyond_the_axis_is_at_its_edge_with_its_number(plot):
    rows = [effect(f"c{index}/x-{index:08}") for index in range(8)] + [effect(A, change=-0.83, verdict="regressed", stage="confirm")]
    assert draw(plot, gate(rows)).returncode == OK
    words = words_of(plot.path / "out/effects.svg")
    assert "−83.0" in words and "beyond the axis" in words
    ticks = [float(word.replace("−", "-")) for word in words.split("change (%)")[0].split()[-5:] if word.replace("−", "").isdigit()]
    assert ticks and max(map(abs, ticks)) <= 20, f"one cell presses the others into one line: {ticks}"


def test_points_have_their_unit(plot):
    row = effect(A, "stall_ratio", change=1.4, scale="points", unit="%", threshold=1.0, mde=1.2, ci_lower=1.1, ci_upper=1.7, verdict="regressed")
    assert draw(plot, gate([row])).returncode == OK
    assert "+1.4" in words_of(plot.path / "out/effects.svg")


def test_from_standard_input(plot):
    done = subprocess.run([SOURCE / "scripts/plot", "-", "--out", "out"], input=json.dumps(comparison([effect(A)])), text=True,
                          capture_output=True, cwd=plot.path, env={**os.environ, "STEPGAUGE_PYTHON": sys.executable}, timeout=120)
    assert done.returncode == OK and (plot.path / "out/effects.png").exists(), done


def test_nothing_to_plot_and_bad_files(plot):
    done = draw(plot, comparison([], refusal="the machines differ in cpu", comparable=False))
    assert done.returncode == NOTHING and "the machines differ in cpu" in done.stderr and not (plot.path / "out").exists(), done
    for text, word in (("{", "not JSON"), ("[]", "not the JSON of a gate"), ('{"schema": "stepgauge.run"}', "stepgauge.gate"),
                       ('{"schema": "stepgauge.gate", "version": 2}', "version 2"),
                       ('{"schema": "stepgauge.gate", "version": 1, "rows": [{}]}', "'metric' is missing")):
        (plot.path / "bad.json").write_text(text)
        done = plot("bad.json")
        assert done.returncode == USAGE and word in done.stderr and "Traceback" not in done.stderr, (text, done)
