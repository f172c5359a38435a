"""scripts/plot: the figures of a run."""

import argparse
import importlib.util
import pathlib
import sys

import records

OK, USAGE, NOTHING = 0, 2, 3
TEXT = """\
Figures of a run, each as SVG and PNG:
  steps     step times in order, the steady window shaded, one panel a cell
  timeline  compute, exposed communication, exposed copies and idle of the worst rank (cells with a traced pass)
  memory    memory over one step by phase (cells that report it)
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/plot", description=TEXT, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: scripts/plot runs/a --out /tmp/figures\n"
               "Exit codes: 0 done, 2 wrong usage, unreadable input or no matplotlib, 3 nothing to plot")
    parser.add_argument("results", type=pathlib.Path, metavar="RUN_FOLDER|RESULTS.jsonl")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where to (default: RUN_FOLDER/plots, RESULTS.plots beside a file)")
    return parser.parse_args(arguments)


def fail(code: int, message: str) -> int:
    print(f"plot: {message}", file=sys.stderr)
    return code


def default_folder(results: pathlib.Path) -> pathlib.Path:
    return results / "plots" if results.is_dir() else results.with_suffix(".plots")


def write_figures(cells: list[records.Cell], folder: pathlib.Path) -> None:
    import look
    import memory
    import steps
    import timeline

    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("steps", steps), ("timeline", timeline), ("memory", memory)):
        figures = part.draw(cells)
        if not figures:
            why = timeline.why_none(cells[-1]) if part is timeline else "no cell reports its memory by phase"
            print(f"{name}: not drawn: {why}")
        for number, figure in enumerate(figures, 1):
            for path in look.save(figure, folder, name if number == 1 else f"{name}-{number}"):
                print(path)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if importlib.util.find_spec("matplotlib") is None:
        return fail(USAGE, f"{sys.executable} has no matplotlib; scripts/setup makes a .venv that has it, or: "
                           f"{sys.executable} -m pip install -r scripts/requirements.txt")
    try:
        cells = records.cells_of(records.launch_records(options.results))
    except records.Unreadable as error:
        return fail(USAGE, str(error))
    if not cells:
        return fail(NOTHING, f"{options.results}: no launch record, nothing to plot")
    try:
        write_figures(cells, options.out or default_folder(options.results))
    except OSError as error:
        return fail(USAGE, str(error))
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
