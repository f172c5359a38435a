"""scripts/plot from outside: files, what stands in them, and input that has nothing to show."""

import os

from conftest import NOTHING, OK, PHASES, USAGE, assert_png, launch, rank, words_of

A, B, C = "resnet50.b256/eager/bf16/cuda.ddp2-0a0b0c0d", "llama.1.1b.b8/eager/bf16/cuda.ddp2-11223344", "gpt.b1/x-99"


def full_run(plot):
    timeline = {"steps": 5, "ranks": [rank(0, 80, 10, 2, 8), rank(1, 60, 25, 5, 10)]}
    measured = [launch(A, index, timeline=timeline, memory={"phases": PHASES}) for index in range(3)]
    return plot.write(*measured, launch(B), launch(C, status="oom", steps=0, reason="out of memory at step 2"))


def test_every_figure_as_svg_and_png(plot):
    folder = full_run(plot)
    done = plot(folder)
    assert done.returncode == OK and done.stderr == "", done
    names = sorted(path.name for path in (folder / "plots").iterdir())
    assert names == [f"{figure}.{kind}" for figure in ("memory", "steps", "timeline") for kind in ("png", "svg")]
    assert sorted(done.stdout.split()) == sorted(str(folder / "plots" / name) for name in names)
    for path in (folder / "plots").glob("*.png"):
        assert_png(path)


def test_steps_shows_every_cell_with_units(plot):
    folder = full_run(plot)
    assert plot(folder, "--out", "figures").returncode == OK
    words = words_of(plot.path / "figures/steps.svg")
    for part in ("resnet50.b256/", "llama.1.1b.b8/", "launch 0", "launch 2", "step time (ms)", "steady in every launch",
                 "up to 2,000 ms", "out of memory at step"):
        assert part in words, (part, words)


def test_timeline_is_the_worst_rank_and_names_cells_without_one(plot):
    folder = full_run(plot)
    assert plot(folder, "--out", "figures").returncode == OK
    words = words_of(plot.path / "figures/timeline.svg")
    for part in ("compute", "exposed communication", "exposed copy", "idle", "(%)", " 60 ", " 25 ", " 10 "):
        assert part in f" {words} ", (part, words)
    assert " 80 " not in words.split("share of")[0].replace("80 100", ""), "that of the better rank"
    assert f"{B}: no timeline: no traced pass was asked for" in words
    assert f"{C}: no timeline: oom: out of memory at step 2" in words


def test_a_trace_that_cannot_be_relied_on_is_not_drawn(plot):
    good = {"steps": 5, "ranks": [rank(0, 80, 10, 2, 8)]}
    folder = plot.write(launch(A, timeline=good), launch(B, timeline={**good, "unreliable": ["3 records were lost"]}))
    assert plot(folder).returncode == OK
    words = words_of(folder / "plots/timeline.svg")
    assert f"{B}: no timeline: unreliable trace: 3 records were lost" in words


def test_memory_by_phase(plot):
    folder = full_run(plot)
    assert plot(folder, "--out", "figures").returncode == OK
    words = words_of(plot.path / "figures/memory.svg")
    for part in ("forward", "backward", "optimizer", "memory (MiB)", "peak allocated", "reserved"):
        assert part in words, (part, words)
    assert "llama" not in words


def test_the_same_records_make_the_same_bytes(plot):
    folder = full_run(plot)
    assert plot(folder, "--out", "one").returncode == plot(folder, "--out", "two").returncode == OK
    for path in (plot.path / "one").iterdir():
        assert path.read_bytes() == (plot.path / "two" / path.name).read_bytes(), path.name


def test_many_cells_take_several_figures(plot):
    folder = plot.write(*(launch(f"cell{index}/x-{index:08}") for index in range(13)))
    done = plot(folder)
    assert done.returncode == OK, done
    assert {path.name for path in (folder / "plots").glob("steps*.svg")} == {"steps.svg", "steps-2.svg"}
    assert "cell12/" in words_of(folder / "plots/steps-2.svg")


def test_the_last_attempt_of_a_launch_counts(plot):
    folder = plot.write(launch(A, status="disturbed", reason="GPU 0: hardware slowdown"), launch(A, attempt=2))
    assert plot(folder).returncode == OK
    assert "disturbed" not in words_of(folder / "plots/steps.svg")


def test_a_launch_that_does_not_count_is_told_apart(plot):
    folder = plot.write(launch(A), launch(A, 1, status="disturbed"))
    assert plot(folder).returncode == OK
    assert "launch 1: disturbed" in words_of(folder / "plots/steps.svg")


def test_nothing_measured_anywhere_still_says_why(plot):
    folder = plot.write(launch(A, status="crashed", steps=0, reason="the worker died by SIGKILL"),
                        launch(B, status="hung", steps=0))
    done = plot(folder)
    assert done.returncode == OK, done
    assert "timeline: not drawn: hung: no reason given" in done.stdout
    words = words_of(folder / "plots/steps.svg")
    assert "died by SIGKILL" in words and "hung: no reason given" in words
    assert not (folder / "plots/timeline.svg").exists()


def test_odd_values(plot):
    odd = "a$b$/c&<d>-1"
    folder = plot.write(launch(odd, ms=0.0), launch(odd, 1, steps=1), launch(B, timeline={"steps": 0, "ranks": []}),
                        launch(A, window={"begin": 5, "end": 5, "steady": False}))
    done = plot(folder)
    assert done.returncode == OK and done.stderr == "", done
    assert "a$b$/" in words_of(folder / "plots/steps.svg")


def test_empty_input_is_not_success(plot):
    folder = plot.write()
    done = plot(folder)
    assert done.returncode == NOTHING and "no launch record" in done.stderr, done
    assert not (folder / "plots").exists()


def test_unreadable_input(plot):
    assert plot("nowhere").returncode == USAGE and "nowhere" in plot("nowhere").stderr
    (plot.path / "bad.jsonl").write_text("{\n{}\n")
    done = plot("bad.jsonl")
    assert done.returncode == USAGE and "bad.jsonl:1: not JSON" in done.stderr, done
    assert plot().returncode == USAGE


def test_a_torn_last_line_is_passed_over(plot):
    folder = plot.write(launch(A))
    with (folder / "records.jsonl").open("a") as journal:
        journal.write('{"schema": "stepg')
    assert plot(folder).returncode == OK


def test_a_file_of_results_is_drawn_beside_it(plot):
    plot.write(launch(A))
    (plot.path / "run/records.jsonl").rename(plot.path / "results.jsonl")
    done = plot("results.jsonl")
    assert done.returncode == OK and (plot.path / "results.plots/steps.svg").exists(), done


def test_without_matplotlib_it_says_how_to_get_it(plot, tmp_path):
    # A Python whose packages cannot be found: no site-packages, no user site.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {os.path.realpath("/proc/self/exe")} -S -s "$@"\n')
    python.chmod(0o755)
    done = plot(plot.write(launch(A)), env={"STEPGAUGE_PYTHON": str(python), "PYTHONPATH": ""})
    assert done.returncode == USAGE and "no matplotlib" in done.stderr and "scripts/setup" in done.stderr, done
