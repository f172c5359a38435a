"""How every figure looks: in print and for every eye, colours of Okabe and Ito, and hatches or dashes beside them."""

import math
import pathlib
import textwrap

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402: the backend comes first
from matplotlib.figure import Figure  # noqa: E402

BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
LINES = [(BLUE, "-"), (VERMILION, "--"), (GREEN, "-."), (PURPLE, ":"), (ORANGE, "-"), (SKY, "--"), (BLACK, "-.")]
GREY = "#767676"  # 4.5 : 1 on white
COLUMNS, MOST_PANELS = 3, 12

matplotlib.rcParams.update({
    "font.size": 8, "axes.titlesize": 7, "axes.labelsize": 8, "legend.fontsize": 7.5, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6, "lines.linewidth": 1.0,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "hatch.linewidth": 0.6,
    "savefig.dpi": 200, "svg.fonttype": "none", "svg.hashsalt": "stepgauge",
})


def short_name(cell_id: str, width: int = 36) -> str:
    """A cell's id on lines that fit above a panel, cut where its parts meet."""
    lines, line = [], ""
    for part in cell_id.replace("$", r"\$").replace("/", "/ ").split():
        if line and len(line) + len(part) > width:
            lines.append(line)
            line = ""
        line += part
    return "\n".join(piece for whole in [*lines, line] for piece in textwrap.wrap(whole, width) or [""])


def shorten_middle(text: str, width: int, keep: int = 9) -> str:
    """As the tables shorten: the middle gives way, the last `keep` columns (the hash of a cell's id) stay."""
    if len(text) <= width:
        return text
    if width < keep + 3:
        return text[len(text) - width:]
    room = width - 2
    tail = min(room - 1, max(keep, room // 2))
    return text[:room - tail] + ".." + text[len(text) - tail:]


def one_line(text: str, width: int) -> str:
    """Text from outside on one line: nothing in it is mathematics, and nothing is a control character."""
    seen = "".join(letter if letter.isprintable() else " " for letter in text)
    return shorten_middle(" ".join(seen.split()), width).replace("$", r"\$")


def plain(text: str, width: int) -> str:
    """Text as it is: no mathematics in it, wrapped."""
    return textwrap.fill(" ".join(text.split()), width).replace("$", r"\$")


def pages(cells: list) -> list[list]:
    """As many panels a figure as stay legible."""
    return [cells[i:i + MOST_PANELS] for i in range(0, len(cells), MOST_PANELS)]


def panels(count: int, height: float = 2.1):
    """A figure with one panel a cell; the panels that are left over are hidden."""
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(max(2.6 * columns, 4.2), height * rows + 0.4), squeeze=False,
                                   layout="constrained")
    flat = [axis for row in axes for axis in row]
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat[:count]


def empty_panel(axis, cell_id: str, why: str) -> None:
    axis.set_title(short_name(cell_id), loc="left")
    axis.text(0.5, 0.5, plain(why, 36), ha="center", va="center", transform=axis.transAxes, color=GREY, fontsize=7)
    axis.set_xticks([])
    axis.set_yticks([])


def save(figure: Figure, folder: pathlib.Path, name: str) -> list[pathlib.Path]:
    """SVG and PNG; the same records make the same bytes."""
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1])
    pyplot.close(figure)
    return paths
