"""scripts/plot: the figures of a run, of a verdict, of a history."""

import argparse
import importlib.util
import pathlib
import re
import sys

import documents
import records

OK, USAGE, NOTHING = 0, 2, 3
TEXT = """\
Figures, each as SVG and PNG.
Of a run (its folder, or a file of results):
  steps     step times in order, the steady window shaded, one panel a cell
  timeline  compute, exposed communication, exposed copies and idle of the worst rank (cells with a traced pass)
  memory    memory over one step by phase (cells that report it)
Of a gate (its folder, or gate.json) and of a comparison (compare --json):
  effects   change, interval, tolerance and MDE of every cell and metric, the worst cells first
Of a history (history show --json, with the history's files):
  history   each series with its control build, alarms, commits, acknowledgements, pins and gaps
"""
EXAMPLES = """\
Examples:
  scripts/plot runs/a --out /tmp/figures
  scripts/plot runs/smoke-gate-20261130-101500
  build/bin/stepgauge compare baseline:smoke runs/b --json | scripts/plot - --out plots
  build/bin/stepgauge history show --json | scripts/plot - --out plots
Exit codes: 0 done, 2 wrong usage, unreadable input or no matplotlib, 3 nothing to plot"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/plot", description=TEXT, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, metavar="RUN_FOLDER|RESULTS.jsonl|GATE_FOLDER|FILE.json|-")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where to (default: FOLDER/plots, FILE.plots beside a file, plots for -)")
    parser.add_argument("--history", type=pathlib.Path, metavar="FOLDER|FILE", default=pathlib.Path("results/history"),
                        help="of a trend: the folder that `history show` read (default: results/history)")
    return parser.parse_args(arguments)


def fail(code: int, message: str) -> int:
    print(f"plot: {message}", file=sys.stderr)
    return code


def default_folder(results: pathlib.Path) -> pathlib.Path:
    if str(results) == "-":
        return pathlib.Path("plots")
    return results / "plots" if results.is_dir() else results.with_suffix(".plots")


def write(figures: list, folder: pathlib.Path, name: str) -> None:
    import look

    folder.mkdir(parents=True, exist_ok=True)
    for number, figure in enumerate(figures, 1):
        for path in look.save(figure, folder, name if number == 1 else f"{name}-{number}"):
            print(path)


def plot_run(path: pathlib.Path, folder: pathlib.Path) -> int:
    cells = records.cells_of(records.launch_records(path))
    if not cells:
        return fail(NOTHING, f"{path}: no launch record, nothing to plot")
    import memory
    import steps
    import timeline

    for name, part in (("steps", steps), ("timeline", timeline), ("memory", memory)):
        figures = part.draw(cells)
        if not figures:
            why = timeline.why_none(cells[-1]) if part is timeline else "no cell reports its memory by phase"
            print(f"{name}: not drawn: {why}")
        write(figures, folder, name)
    return OK


def plot_effects(path: pathlib.Path, value: dict, folder: pathlib.Path) -> int:
    import effects

    document = documents.effects(path, value)
    if not value["rows"]:
        return fail(NOTHING, f"{path}: no row, nothing to plot" + (f": {value['refusal']}" if value.get("refusal") else ""))
    write(effects.draw(document), folder, "effects")
    return OK


def plot_histories(path: pathlib.Path, value: dict, options: argparse.Namespace, folder: pathlib.Path) -> int:
    import trends

    found = [history for history in documents.histories(path, value, options.history) if history.trend["rows"]]
    if not found:
        return fail(NOTHING, f"{path}: no series, nothing to plot")
    for history in found:
        whole = f"history-{history.trend['suite']}-{history.trend['machine']}"
        name = "history" if len(found) == 1 else re.sub(r"[^A-Za-z0-9._-]+", "_", whole)
        write(trends.draw(history), folder, name)
        if left := trends.left_out(history):
            print(f"{name}: {left}")
    return OK


def plot(options: argparse.Namespace) -> int:
    path, folder = options.results, options.out or default_folder(options.results)
    value = documents.document_of(path)
    if value is None:
        return plot_run(path, folder)
    if "histories" in value or value.get("schema") == documents.TREND:
        return plot_histories(path, value, options, folder)
    return plot_effects(path, value, folder)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if importlib.util.find_spec("matplotlib") is None:
        return fail(USAGE, f"{sys.executable} has no matplotlib; scripts/setup makes a .venv that has it, or: "
                           f"{sys.executable} -m pip install -r scripts/requirements.txt")
    try:
        return plot(options)
    except (records.Unreadable, OSError) as error:
        return fail(USAGE, str(error))
    except KeyError as error:
        return fail(USAGE, f"{options.results}: the field {error} is missing; `stepgauge schema` prints what the file must hold")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
