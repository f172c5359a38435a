"""Effects of a gate or a comparison: change with interval, tolerance and smallest change that would have been seen, a row a
cell and a column a metric, the worst cells first."""

import dataclasses
import math

import look
from documents import Effects
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

# Colour and marker of a verdict, in the order of what needs attention.
VERDICTS = {"regressed": (look.VERMILION, "X"), "invalid": (look.BLACK, "d"), "missing": (look.GREY, "d"),
            "inconclusive": (look.ORANGE, "s"), "improved": (look.BLUE, "P"), "pass": (look.GREEN, "o")}
URGENCY = {verdict: place for place, verdict in enumerate(VERDICTS)}
OUTCOMES = {0: "nothing worse", 1: "REGRESSED", 2: "usage", 3: "INVALID", 4: "INCONCLUSIVE", 5: "NOT COMPARABLE"}
BAND = "#E0E0E0"
MOST_CELLS, MOST_METRICS, MOST_NOTES = 30, 5, 10
ROW_IN, METRIC_IN, NAME_COLUMNS = 0.19, 2.1, 66
PSEUDO = ("launches", "cell")  # rows about launches and cells, not metrics


@dataclasses.dataclass
class Page:
    cells: list[str]
    metrics: list[str]
    number: int = 1
    count: int = 1


def percent(row: dict, value: float) -> float:
    return 100 * value if row["scale"] == "ratio" else value


def for_the_worse(row: dict, size: float) -> float:
    """Where a change for the worse of this size lies, on the scale of `change`."""
    if row["better"] != "higher":
        return size
    return 1 / (1 + size) - 1 if row["scale"] == "ratio" else -size


def band_of(row: dict) -> tuple[float, float] | None:
    """What is tolerated: as much to either side, on the logarithmic scale for ratios."""
    size = row["threshold"]
    if size is None:
        return None
    return (1 / (1 + size) - 1, size) if row["scale"] == "ratio" else (-size, size)


def extent(row: dict) -> float:
    """How far the row wants its axis to reach: its change, and its interval as far as that stays near the change."""
    change, size = abs(row["change"]), row["threshold"] or 0.0
    ends = [abs(row[key]) for key in ("ci_lower", "ci_upper") if row[key] is not None]
    return max([change, *(min(end, 3 * change + 2 * size) for end in ends)])


def reach(rows: list[dict]) -> float:
    """Half of a metric's axis, on all pages alike. What lies beyond is shown at the edge: one cell that is five times slower
    shall not press the others into one line."""
    measured = [row for row in rows if row["change"] is not None]
    sizes = sorted(row["threshold"] for row in measured if row["threshold"])
    wanted = 1.1 * max(map(extent, measured), default=0.0)
    if not sizes:
        return wanted or 1.0
    usual = 2.5 * sizes[len(sizes) // 2]
    return min(max(usual, wanted), 4 * usual)


def confirmed(row: dict) -> bool:
    """Final: on new pairs, or without any spread. A comparison has one stage; its rows are what they are."""
    return row.get("stage", "confirm") == "confirm" or row["exact"]


def draw_interval(axis, row: dict, y: int, edge: float) -> None:
    colour = VERDICTS[row["verdict"]][0]
    if row["ci_lower"] is None or row["ci_upper"] is None:
        return
    ends = [percent(row, row[key]) for key in ("ci_lower", "ci_upper")]
    low, high = (min(max(end, -edge), edge) for end in ends)
    axis.plot([low, high], [y, y], color=colour, linewidth=2.0 if confirmed(row) else 0.9, solid_capstyle="butt", zorder=3)
    for end, marker in ((ends[0], "<"), (ends[1], ">")):
        if abs(end) > edge:
            axis.plot(math.copysign(edge, end), y, marker, color=colour, markersize=3, clip_on=False, zorder=3)


def draw_mde(axis, row: dict, y: int, edge: float) -> None:
    if row["mde"] is None:
        return
    at = percent(row, for_the_worse(row, row["mde"]))
    if abs(at) <= edge:
        axis.plot([at, at], [y - 0.34, y + 0.34], color=look.BLACK, linewidth=0.9, zorder=2)
    else:
        axis.plot(math.copysign(edge, at), y - 0.33, ">" if at > 0 else "<", color=look.BLACK, markersize=2.2, clip_on=False)


def change_text(change: float) -> str:
    text = f"{change:+.{1 if abs(change) < 99.5 else 0}f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def draw_row(axis, row: dict, y: int, edge: float) -> None:
    colour, marker = VERDICTS[row["verdict"]]
    if (band := band_of(row)) is not None:
        low, high = (min(max(percent(row, end), -edge), edge) for end in band)
        axis.barh(y, high - low, left=low, height=0.96, color=BAND, zorder=0)
    if row["change"] is None:
        axis.text(0, y, row["verdict"], ha="center", va="center", fontsize=6, color=colour, style="italic")
        return
    draw_mde(axis, row, y, edge)
    draw_interval(axis, row, y, edge)
    change = percent(row, row["change"])
    axis.plot(min(max(change, -edge), edge), y, marker, markersize=4.2, markeredgecolor=colour, markeredgewidth=0.9,
              markerfacecolor=colour if confirmed(row) else "white", clip_on=False, zorder=4)
    if row["verdict"] != "pass":
        axis.text(1.03, y, change_text(change), va="center", fontsize=6, color=colour, transform=axis.get_yaxis_transform(),
                  weight="bold" if confirmed(row) else "normal")


def draw_metric(axis, rows: list[dict], metric: str, cells: list[str], edge: float) -> None:
    first = next(row for row in rows if row["metric"] == metric)
    edge = percent(first, edge)
    axis.axvline(0, color=look.BLACK, linewidth=0.5, zorder=1)
    for row in rows:
        if row["metric"] == metric and row["cell"] in cells:
            draw_row(axis, row, cells.index(row["cell"]), edge)
    axis.set_title(metric + ("" if first.get("blocking", True) else " (advisory)"), loc="left")
    axis.set_xlim(-edge, edge)
    unit = "%" if first["scale"] == "ratio" else look.plain(first["unit"], 20)
    axis.set_xlabel(f"change ({unit}), " + ("← worse" if first["better"] == "higher" else "worse →"))
    axis.xaxis.get_major_locator().set_params(nbins=5, symmetric=True)


def draw_names(axis, rows: list[dict], cells: list[str]) -> None:
    slowed = {row["cell"] for row in rows if row["perturbed"]}
    worst = {cell: min((row["verdict"] for row in rows if row["cell"] == cell), key=URGENCY.get) for cell in cells}
    axis.set_yticks(range(len(cells)), [look.one_line(("* " if cell in slowed else "") + cell, NAME_COLUMNS)
                                        for cell in cells], fontsize=6)
    for label, cell in zip(axis.get_yticklabels(), cells):
        if worst[cell] in ("regressed", "invalid", "missing"):
            label.set_color(VERDICTS[worst[cell]][0])
    axis.set_ylim(len(cells) - 0.4, -0.6)


def note_lines(rows: list[dict], cells: list[str]) -> list[str]:
    """Of rows that are not about a metric's values, and why rows without numbers have none."""
    found: dict[str, int] = {}
    for row in rows:
        if row["cell"] in cells and (row["metric"] in PSEUDO or row["change"] is None):
            subject = row["metric"] if row["metric"] in PSEUDO else "no values"
            text = f"{look.one_line(row['cell'], 60)}: {subject}: {row['verdict']}: {row['reason']}"
            found[text] = found.get(text, 0) + 1
    lines = list(found)
    return lines if len(lines) <= MOST_NOTES else [*lines[:MOST_NOTES - 1], f"and {len(lines) - MOST_NOTES + 1} more notes"]


def heading(effects: Effects, page: Page, columns: int) -> str:
    value, counts = effects.value, effects.value["counts"]
    kind = "gate" if effects.gate else "comparison"
    name = value["suite"]["name"] if effects.gate else value["suite"]
    lines = [f"{kind} of suite {name}: {OUTCOMES[value['exit_code']]} (exit code {value['exit_code']})"
             + (f"; page {page.number} of {page.count}" if page.count > 1 else "")]
    lines.append(f"{counts['compared']} of {counts['expected']} rows compared: {counts['passed']} pass, " + ", ".join(
        f"{counts[key]} {key}" for key in ("regressed", "improved", "inconclusive", "invalid", "missing")))
    if effects.gate:
        lines += [f"{arm}: {' + '.join(value[arm]['arm'])}" for arm in ("base", "head")]
    else:
        lines.append(f"base: {value['base']['name']}; head: {value['head']['name']}")
    return "\n".join(look.one_line(line, columns) for line in lines)


def legend(figure, rows: list[dict], gate: bool, notes: list[str], width: float) -> None:
    """Its title holds the notes of the page, since the layout keeps one block below the axes."""
    seen = {row["verdict"] for row in rows if row["change"] is not None}
    handles = [Line2D([], [], color=colour, marker=marker, markersize=5, linewidth=1.5, label=verdict)
               for verdict, (colour, marker) in VERDICTS.items() if verdict in seen]
    if gate:
        handles += [Line2D([], [], color=look.GREY, marker="o", linewidth=2.0, label="confirmed on new pairs, or exact"),
                    Line2D([], [], color=look.GREY, marker="o", markerfacecolor="white", linewidth=0.9, label="of the screen alone")]
    handles += [Patch(color=BAND, label="tolerance"),
                Line2D([], [], color=look.BLACK, marker="|", markersize=8, linestyle="none", label="smallest change it could have seen (MDE)"),
                Line2D([], [], color=look.GREY, marker=">", markersize=3, linewidth=0.9, label="beyond the axis")]
    title = "\n".join([*notes, "line: 95 % interval; number at the right: change of what does not pass"])
    figure.legend(handles=handles, loc="outside lower left", ncols=max(2, int(width / 2.6)), handlelength=2.0, title=title,
                  alignment="left", title_fontsize=6.5)


def draw_page(effects: Effects, rows: list[dict], page: Page, edges: dict[str, float]):
    columns = len(page.metrics)
    width = 3.5 + METRIC_IN * max(columns, 2)
    notes = [look.plain(line, int(16 * width)) for line in note_lines(rows, page.cells)]
    lines = sum(note.count("\n") + 1 for note in notes)
    figure, axes = look.pyplot.subplots(1, max(columns, 1), squeeze=False, sharey=True, layout="constrained",
                                        figsize=(width, ROW_IN * max(len(page.cells), 3) + 2.2 + 0.13 * lines))
    for axis, metric in zip(axes[0], page.metrics):
        draw_metric(axis, rows, metric, page.cells, edges[metric])
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
    if not page.metrics:
        axes[0][0].set_xticks([])
    draw_names(axes[0][0], rows, page.cells)
    figure.suptitle(heading(effects, page, int(13.5 * width)), x=0.01, ha="left", fontsize=8)
    legend(figure, rows, effects.gate, notes, width)
    return figure


def chunks(items: list, size: int) -> list[list]:
    """Of nearly one length, none above `size`."""
    count = math.ceil(len(items) / size)
    return [items[len(items) * i // count:len(items) * (i + 1) // count] for i in range(count)]


def pages_of(rows: list[dict]) -> list[Page]:
    """The worst cells first; metrics that block before those that advise, in the order of the rows."""
    metrics = list(dict.fromkeys(row["metric"] for row in rows if row["metric"] not in PSEUDO))
    blocking = {row["metric"] for row in rows if row.get("blocking", True)}
    metrics.sort(key=lambda metric: metric not in blocking)
    worst: dict[str, int] = {}
    for row in rows:
        worst[row["cell"]] = min(worst.get(row["cell"], len(URGENCY)), URGENCY[row["verdict"]])
    cells = sorted(worst, key=worst.get)
    pages = [Page(some, columns) for some in chunks(cells, MOST_CELLS) for columns in chunks(metrics, MOST_METRICS) or [[]]]
    for number, page in enumerate(pages, 1):
        page.number, page.count = number, len(pages)
    return pages


def draw(effects: Effects) -> list:
    """No figure when there is no row."""
    rows = effects.value["rows"]
    edges = {metric: reach([row for row in rows if row["metric"] == metric]) for metric in {row["metric"] for row in rows}}
    return [draw_page(effects, rows, page, edges) for page in pages_of(rows)]
