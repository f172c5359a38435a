"""A history: one panel a series, with its control build, the level and tolerance in force, alarms, commits, acknowledgements,
pins and gaps; what the marks mean stands in words below each panel. Series that need a person come first."""

import datetime
import math
import statistics

import documents
import look
import nights
from matplotlib import dates
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

COLUMNS, MOST_PANELS, MOST_SERIES = 2, 6, 48
PANEL_IN, EVENT_IN, WORD_COLUMNS, MOST_EVENTS = 4.6, 0.125, 80, 6
STATES = {"alarm": look.VERMILION, "vanished": look.BLACK, "new": look.BLUE, "quiet": look.GREEN, "shown": look.GREY}
BAND = "#E4E4E4"
LEVEL_NIGHTS = 60  # that tell a level, as the trend takes them


def colour_of(event: nights.Event) -> str:
    if event.kind == "alarm":
        return look.VERMILION if event.blocks else look.ORANGE if event.worse else look.BLUE
    if event.kind == "change":
        return look.ORANGE if event.worse else look.BLUE
    return {"machine": look.BLACK, "acknowledged": look.GREEN, "pin": look.PURPLE}[event.kind]


def tags_of(events: list[nights.Event]) -> list[str]:
    """A letter for the kind and a number: A1 and A2 are alarms, W1 a change that the weekly search found, K1 an acknowledgement, P1 a
    pin, C1 an alarm of the control."""
    letters, counts, out = {"alarm": "A", "change": "W", "acknowledged": "K", "pin": "P", "machine": "C"}, {}, []
    for event in events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
        out.append(f"{letters[event.kind]}{counts[event.kind]}")
    return out


def told(series: nights.Series) -> list[nights.Event]:
    """The newest events, as many as stay legible."""
    return series.events[-MOST_EVENTS:]


def spacing(times: list[datetime.datetime]) -> datetime.timedelta:
    steps = [later - earlier for earlier, later in zip(times, times[1:])]
    return statistics.median(steps) if steps else datetime.timedelta(days=1)


def gaps(series: nights.Series) -> list[tuple[datetime.datetime, datetime.datetime]]:
    """Times in which a night should have had a value and has none: within the series, and from its end to the last night."""
    known = [time for time, value in zip(series.times, series.values(series.tip)) if not math.isnan(value)]
    step = spacing(series.times)
    out = [(a, b) for a, b in zip(known, known[1:]) if b - a > 1.5 * step]
    if known and series.times[-1] > known[-1]:
        out.append((known[-1], series.times[-1] + step / 2))
    return out


def broken(times: list[datetime.datetime], values: list[float], step: datetime.timedelta) -> tuple[list, list[float]]:
    """A line's points, with nothing between two of them where days without any night lie between."""
    out: tuple[list, list[float]] = ([], [])
    for time, value in zip(times, values):
        if out[0] and time - out[0][-1] > 1.5 * step:
            out[0].append(out[0][-1] + step)
            out[1].append(math.nan)
        out[0].append(time)
        out[1].append(value)
    return out


def levels(series: nights.Series) -> list[tuple[int, int, float]]:
    """(first night, night behind the last, level): the level of each stretch between changes, or of tip against control."""
    starts = sorted({0, *(event.night for event in series.events if event.kind in ("alarm", "change", "acknowledged"))})
    values = judged(series)
    out = []
    for begin, end in zip(starts, [*starts[1:], len(values)]):
        known = [value for value in values[begin:end] if not math.isnan(value)][-LEVEL_NIGHTS:]
        if known:
            out.append((begin, end, statistics.median(known)))
    return out


def judged(series: nights.Series) -> list[float]:
    """What the alarms are about: the tip, or the tip against the control build of the same night."""
    tip = series.values(series.tip)
    if not series.row["against_reference"]:
        return tip
    ratio = series.row["scale"] == "ratio"
    return [value / other if ratio else value - other for value, other in zip(tip, series.values(series.control))]


def expected(series: nights.Series, level: float) -> list[float]:
    """A level in the unit of the tip: where the control build is taken off, it moves with the control build."""
    if not series.row["against_reference"]:
        return [level] * len(series.times)
    ratio = series.row["scale"] == "ratio"
    return [other * level if ratio else other + level for other in series.values(series.control)]


def tolerated(series: nights.Series, value: float) -> tuple[float, float]:
    size = series.row["threshold"]
    return (value / (1 + size), value * (1 + size)) if series.row["scale"] == "ratio" else (value - size, value + size)


def draw_levels(axis, series: nights.Series) -> list[float]:
    """The tolerance about the level that the last alarm left, to the end: what is out of it is what the alarm is about."""
    found, drawn = levels(series), []
    if not found:
        return drawn
    alarms = [event.night for event in series.events if event.kind == "alarm"]
    known = max((event.night for event in series.events if event.kind == "acknowledged"), default=0)
    standing = [night for night in alarms if night > known]
    base = next((item for item in reversed(found) if not standing or item[1] <= min(standing)), found[0])
    for begin, end, level in found:
        line = expected(series, level)
        axis.plot(*broken(series.times[begin:end], line[begin:end], spacing(series.times)), color=look.BLACK, linewidth=0.9, zorder=3)
        drawn += line[begin:end]
    if series.row["threshold"] is not None:
        edges = [tolerated(series, value) for value in expected(series, base[2])][base[0]:]
        low, high = zip(*edges)
        axis.fill_between(series.times[base[0]:], low, high, color=BAND, linewidth=0, zorder=0)
        drawn += [*low, *high]
    return [value for value in drawn if not math.isnan(value)]


def limits(values: list[float], drawn: list[float]) -> tuple[float, float]:
    """Of the axis: one night that is far off shall not press the others into one line."""
    known = sorted(value for value in values if not math.isnan(value))
    low, high = known[len(known) // 50], known[-1 - len(known) // 50]
    room = 0.6 * (high - low)
    low, high = max(known[0], low - room), min(known[-1], high + room)
    low, high = min([low, *drawn]), max([high, *drawn])
    pad = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad


def draw_beyond(axis, times: list, values: list[float], colour: str) -> None:
    low, high = axis.get_ylim()
    for time, value in zip(times, values):
        if value > high or value < low:
            axis.plot(time, high if value > high else low, "^" if value > high else "v", color=colour, markersize=4, clip_on=False)


def draw_values(axis, series: nights.Series) -> list[float]:
    tip, control, step = series.values(series.tip), series.values(series.control), spacing(series.times)
    if not all(map(math.isnan, control)):
        axis.plot(*broken(series.times, control, step), color=look.SKY, linestyle="--", marker="s", markersize=1.8, linewidth=0.8,
                  zorder=1)
    launches = [(time, value) for time, night in zip(series.times, series.tip) for value in night]
    axis.plot([time for time, _ in launches], [value for _, value in launches], ".", color="#9EC9E2", markersize=2.0, zorder=1)
    axis.plot(*broken(series.times, tip, step), color=look.BLUE, marker="o", markersize=2.2, linewidth=0.7, zorder=2)
    return tip + control


def draw_events(axis, series: nights.Series, tip: list[float]) -> None:
    """Lines and tags; tags that would stand on one another are joined."""
    width = (axis.get_xlim()[1] - axis.get_xlim()[0]) or 1.0
    shown: list[tuple[float, str, str]] = []
    tags = dict(zip(map(id, series.events), tags_of(series.events)))
    for event in told(series):
        colour, time = colour_of(event), series.times[event.night]
        axis.axvline(time, color=colour, linewidth=0.9, zorder=1,
                     linestyle={"alarm": "-", "change": (0, (1, 1)), "acknowledged": "--", "pin": "-.", "machine": ":"}[event.kind])
        if event.good is not None and event.kind == "alarm":
            axis.axvspan(series.times[event.good], series.times[event.bad], color=colour, alpha=0.16, linewidth=0, zorder=0)
            if not math.isnan(tip[event.raised]):
                axis.plot(series.times[event.raised], tip[event.raised], "D", color=colour, markersize=4.5,
                          markerfacecolor="none", markeredgewidth=1.1, zorder=4)
        at = (dates.date2num(time) - axis.get_xlim()[0]) / width
        if shown and at - shown[-1][0] < 0.05:
            last = shown.pop()
            shown.append((last[0], f"{last[1]} {tags[id(event)]}", last[2]))
        else:
            shown.append((at, tags[id(event)], colour))
    for at, text, colour in shown:
        axis.text(at, 1.01, text, ha="center", va="bottom", fontsize=6.5, color=colour, weight="bold", transform=axis.transAxes)


def words_below(series: nights.Series) -> list[str]:
    tags = dict(zip(map(id, series.events), tags_of(series.events)))
    lines = [f"{tags[id(event)]} {event.words}" for event in told(series)]
    if len(series.events) > len(lines):
        lines.insert(0, f"({len(series.events) - len(lines)} earlier events are not shown)")
    if series.row["reason"]:
        lines.append(series.row["reason"])
    return [part for line in lines for part in look.plain(line, WORD_COLUMNS).split("\n")]


def draw_series(axis, series: nights.Series) -> None:
    row = series.row
    values = draw_values(axis, series)
    drawn = draw_levels(axis, series)
    axis.set_ylim(*limits(values, drawn))
    step = spacing(series.times)
    axis.set_xlim(series.times[0] - step, series.times[-1] + step)
    for begin, end in gaps(series):
        axis.axvspan(begin, end, facecolor="none", edgecolor="#BDBDBD", hatch="////", linewidth=0, zorder=0)
    tip = series.values(series.tip)
    draw_beyond(axis, series.times, tip, look.BLUE)
    draw_beyond(axis, series.times, series.values(series.control), look.SKY)
    draw_events(axis, series, tip)
    title = look.one_line(row["cell"], 64) + f"\n{row['metric']}: {row['state']}"
    title += f", last night {nights.change_text(row, row['change'])}" if row["change"] is not None else ""
    title += ", against the control build" if row["against_reference"] else ""
    axis.set_title(title, loc="left", pad=11, color=STATES[row["state"]] if row["state"] in ("alarm", "vanished") else look.BLACK)
    axis.set_ylabel(f"{row['metric']} ({look.plain(row['unit'], 20)})")
    long = series.times[-1] - series.times[0] > datetime.timedelta(days=300)
    axis.xaxis.set_major_locator(dates.AutoDateLocator(maxticks=7))
    axis.xaxis.set_major_formatter(dates.DateFormatter("%b %Y" if long else "%-d %b"))
    if words := words_below(series):
        axis.set_xlabel("\n".join(words), loc="left", fontsize=6, linespacing=1.25)


def legend(figure, page: list[nights.Series]) -> None:
    kinds = {event.kind for series in page for event in told(series)}
    handles = [Line2D([], [], color=look.BLUE, marker="o", markersize=3, label="a night (small points: its launches)")]
    if any(any(series.control) for series in page):
        handles.append(Line2D([], [], color=look.SKY, linestyle="--", marker="s", markersize=3, label="control build"))
    handles += [Line2D([], [], color=look.BLACK, label="level"), Patch(color=BAND, label="tolerance about the level in force")]
    seen = {colour_of(event) for series in page for event in told(series) if event.kind == "alarm"}
    handles += [Line2D([], [], color=colour, marker="D", markerfacecolor="none", markersize=4.5, label=label)
                for colour, label in ((look.VERMILION, "A: blocks"), (look.ORANGE, "A: worse, does not block"),
                                      (look.BLUE, "A: better")) if colour in seen]
    if seen:
        handles.append(Patch(color=look.GREY, alpha=0.3, label="A: commits between"))
    handles += [Line2D([], [], color=colour, linestyle=dashes, label=label) for kind, colour, dashes, label in (
        ("change", look.ORANGE, (0, (1, 1)), "W: found by the weekly search"),
        ("machine", look.BLACK, ":", "C: the control build changed"), ("acknowledged", look.GREEN, "--", "K: acknowledged"),
        ("pin", look.PURPLE, "-.", "P: pin")) if kind in kinds]
    if any(gaps(series) for series in page):
        handles.append(Patch(facecolor="white", edgecolor="#BDBDBD", hatch="////", label="no value"))
    figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=2.2)


def heading(history: documents.History, number: int, count: int) -> str:
    trend, counts = history.trend, history.trend["counts"]
    shown = ("alarm", "quiet", "shown", "fresh", "vanished")
    text = f"history of suite {trend['suite']} on {trend['machine']}" + (f"; page {number} of {count}" if count > 1 else "")
    times = [night["created_at"][:10] for night in trend["nights"]]
    return look.one_line(text, 120) + "\n" + look.one_line(
        f"{len(times)} nights, {times[0]} to {times[-1]}; {counts['series']} series: "
        + ", ".join(f"{counts[key]} {'new' if key == 'fresh' else key}" for key in shown), 120)


def urgency(row: dict) -> tuple:
    return (not any(alarm["blocks"] for alarm in row["alarms"]), list(STATES).index(row["state"]), not row["crept"], not row["blocking"])


def draw_page(history: documents.History, page: list[nights.Series], number: int, count: int):
    columns = min(COLUMNS, len(page))
    rows = math.ceil(len(page) / columns)
    lines = [max(len(words_below(series)) for series in page[i:i + columns]) for i in range(0, len(page), columns)]
    figure, axes = look.pyplot.subplots(rows, columns, squeeze=False, layout="constrained",
                                        figsize=(PANEL_IN * max(columns, 1.6), 1.2 + sum(2.15 + EVENT_IN * n for n in lines)))
    flat = [axis for row in axes for axis in row]
    for axis in flat[len(page):]:
        axis.set_visible(False)
    for axis, series in zip(flat, page):
        draw_series(axis, series)
    figure.suptitle(heading(history, number, count), x=0.01, ha="left", fontsize=8)
    legend(figure, page)
    return figure


def by_urgency(history: documents.History) -> list[dict]:
    return sorted(history.trend["rows"], key=urgency)


def left_out(history: documents.History) -> str:
    """What is not drawn of a long history; empty: all is."""
    rest = by_urgency(history)[MOST_SERIES:]
    if not rest:
        return ""
    alarms = sum(row["state"] == "alarm" for row in rest)
    return (f"{len(rest)} of {len(history.trend['rows'])} series are not drawn, {alarms or 'none'} of them in alarm; "
            "choose with `history show --only`")


def draw(history: documents.History) -> list:
    """No figure when the trend has no series."""
    chosen = nights.series_of(history, by_urgency(history)[:MOST_SERIES])
    pages = [chosen[i:i + MOST_PANELS] for i in range(0, len(chosen), MOST_PANELS)]
    return [draw_page(history, page, number, len(pages)) for number, page in enumerate(pages, 1)]
