"""Where the time of a step goes on the worst rank: compute, exposed communication, exposed copies, idle."""

import statistics

import look
import records

PARTS = [("compute_ms", "compute", look.BLUE, ""), ("exposed_comm_ms", "exposed communication", look.ORANGE, "////"),
         ("exposed_copy_ms", "exposed copy", look.GREEN, "...."), ("idle_ms", "idle", "#FFFFFF", "xxxx")]
LOST = ("exposed_comm_ms", "exposed_copy_ms", "idle_ms")
ROW_IN, LINE_IN = 0.42, 0.14
MOST_BARS = 24


def percents(rank: dict) -> list[float]:
    return [100 * rank[key] / rank["window_ms"] for key, *_ in PARTS]


def worst_rank(launch: dict) -> dict | None:
    """The one that loses the largest share of its window; None without a timeline that can be relied on."""
    timeline = launch.get("timeline", {})
    ranks = [] if timeline.get("unreliable") else timeline.get("ranks", [])
    usable = [rank for rank in ranks if rank.get("window_ms") and all(rank.get(key) is not None for key, *_ in PARTS)]
    return max(usable, key=lambda rank: sum(rank[key] for key in LOST) / rank["window_ms"], default=None)


def shares(cell: records.Cell) -> list[float] | None:
    """Percent of each part: the worst rank of every launch, the mean over the launches."""
    worst = [rank for rank in map(worst_rank, cell.ok) if rank is not None]
    return [statistics.mean(column) for column in zip(*map(percents, worst))] if worst else None


def why_none(cell: records.Cell) -> str:
    if not cell.ok:
        return cell.why_nothing
    launch = cell.ok[-1]
    if unreliable := launch.get("timeline", {}).get("unreliable"):
        return "unreliable trace: " + "; ".join(unreliable)
    return launch["metrics"].get("stall_ratio", {}).get("absent") or "the worker did not report it"


def draw_bars(axis, bars: list[tuple[records.Cell, list[float]]]) -> None:
    for row, (_, values) in enumerate(bars):
        left = 0.0
        for (_, label, colour, hatch), value in zip(PARTS, values):
            axis.barh(row, value, left=left, height=0.62, color=colour, hatch=hatch, edgecolor=look.BLACK,
                      linewidth=0.5, clip_on=False, label=label if row == 0 else None)
            if value >= 6:
                axis.text(left + value / 2, row, f"{value:.0f}", ha="center", va="center", fontsize=6.5,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
            left += value
    axis.set_yticks(range(len(bars)), [look.short_name(cell.id) for cell, _ in bars], fontsize=6.5)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("share of the traced steps (%), worst rank, mean over the launches")


def draw_page(bars: list, missing: list[records.Cell]):
    notes = [look.plain(f"{cell.id}: no timeline: {why_none(cell)}", 118) for cell in missing]
    lines = sum(note.count("\n") + 1 for note in notes)
    figure, axis = look.pyplot.subplots(figsize=(7.8, ROW_IN * len(bars) + 1.0 + LINE_IN * lines), layout="constrained")
    draw_bars(axis, bars)
    figure.legend(loc="outside upper right", ncols=len(PARTS), handlelength=2.2, handleheight=1.2)
    if notes:
        figure.supxlabel("\n".join(notes), x=0.01, ha="left", fontsize=6.5, color=look.GREY)
    return figure


def draw(cells: list[records.Cell]) -> list:
    """No figure when no cell has a timeline."""
    found = [(cell, shares(cell)) for cell in cells]
    bars = [(cell, values) for cell, values in found if values is not None]
    missing = [cell for cell, values in found if values is None]
    pages = [bars[i:i + MOST_BARS] for i in range(0, len(bars), MOST_BARS)]
    return [draw_page(page, missing if page is pages[-1] else []) for page in pages]
