"""Step times in order: one panel a cell, its launches over one another, the steady window shaded."""

import statistics

import look
import records

HEADROOM = 0.08  # of the range that is shown, above and below
LEAST_RANGE = 0.05  # of the median: noise of a per mille shall not fill the panel


def shared_window(launches: list[dict]) -> tuple[int, int] | None:
    """The steps that are steady in every launch."""
    found = [records.window(launch) for launch in launches]
    if not found or None in found:
        return None
    begin, end = max(begin for begin, _ in found), min(end for _, end in found)
    return (begin, end) if begin < end else None


def limits(launches: list[dict]) -> tuple[float, float]:
    """Of the axis: the steady steps of every launch and some room; the first step is often a hundred times longer."""
    shown = []
    for launch in launches:
        steps = records.step_ms(launch)
        begin, end = records.window(launch) or (len(steps) // 2, len(steps))
        shown += steps[begin:end]
    middle = statistics.median(shown)
    low, high = min(shown), max(shown)
    room = max(LEAST_RANGE * middle, high - low) * HEADROOM
    missing = max(0.0, LEAST_RANGE * middle - (high - low)) / 2
    low, high = low - missing - room, high + missing + room
    return (max(0.0, low), high) if high > 0 else (0.0, 1.0)


def draw_beyond(axis, launches: list[dict], high: float) -> str:
    """Steps above the axis as triangles at its upper edge; the longest of them in words."""
    longest = 0.0
    for launch in launches:
        steps = records.step_ms(launch)
        beyond = [index for index, ms in enumerate(steps) if ms > high]
        if not beyond:
            continue
        longest = max([longest, *(steps[index] for index in beyond)])
        axis.plot(beyond, [high] * len(beyond), "^", markersize=3, color=look.BLACK, clip_on=False, linestyle="none")
    return f" (▲ above, up to {longest:,.0f} ms)" if longest else ""


def draw_cell(axis, cell: records.Cell) -> None:
    launches = [launch for launch in cell.launches if records.step_ms(launch)]
    if not launches:
        look.empty_panel(axis, cell.id, f"nothing measured: {cell.why_nothing}")
        return
    axis.set_title(look.short_name(cell.id), loc="left")
    counted = [launch for launch in launches if launch["status"] == "ok"]
    if (window := shared_window(counted)) is not None:
        axis.axvspan(window[0] - 0.5, window[1] - 0.5, facecolor="#E4E4E4", edgecolor="none", zorder=0)
    for index, launch in enumerate(launches):
        steps = records.step_ms(launch)
        colour, dashes = look.LINES[index % len(look.LINES)]
        label = f"launch {launch['launch']}"
        if launch["status"] != "ok":
            colour, dashes, label = look.GREY, (0, (1, 1)), f"{label}: {launch['status']}"
        axis.plot(range(len(steps)), steps, color=colour, linestyle=dashes, linewidth=0.8, label=label)
    low, high = limits(counted or launches)
    axis.set_ylim(low, high)
    axis.set_xlabel("step" + draw_beyond(axis, launches, high))
    axis.set_xlim(-0.5, max(len(records.step_ms(launch)) for launch in launches) - 0.5)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_ylabel("step time (ms)")


def legend(figure, axes) -> None:
    """One for all panels: launch n looks the same in each."""
    entries = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels())}
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="outside lower left", ncols=min(5, len(entries)),
                      title="grey area: steady in every launch", alignment="left", title_fontsize=7.5)


def draw(cells: list[records.Cell]) -> list:
    figures = []
    for page in look.pages(cells):
        figure, axes = look.panels(len(page))
        for axis, cell in zip(axes, page):
            draw_cell(axis, cell)
        legend(figure, axes)
        figures.append(figure)
    return figures
