"""The nights of one series: values of tip and control build, and the events that a figure of it tells."""

import dataclasses
import datetime
import fnmatch
import math
import statistics

import documents

WHEN = "%-d %b %Y"


@dataclasses.dataclass
class Event:
    """Something that a figure marks at a night and tells in words below."""
    kind: str  # alarm, change, acknowledged, pin, machine
    night: int
    words: str
    good: int | None = None  # of an alarm: the change lies behind this night,
    bad: int | None = None   # and not behind this one
    raised: int | None = None
    blocks: bool = False
    worse: bool = False


@dataclasses.dataclass
class Series:
    row: dict
    times: list[datetime.datetime]  # of all nights
    tip: list[list[float]]          # launches of each night; empty: none
    control: list[list[float]]
    events: list[Event]

    @property
    def name(self) -> str:
        return f"{self.row['cell']}:{self.row['metric']}"

    def values(self, nights: list[list[float]]) -> list[float]:
        """A night's value: the mean of its launches, geometric for ratios; NaN where there is none."""
        return [night_value(launches, self.row["scale"]) for launches in nights]


def night_value(launches: list[float], scale: str) -> float:
    if not launches:
        return math.nan
    if scale == "points":
        return statistics.fmean(launches)
    return math.exp(statistics.fmean(map(math.log, launches))) if min(launches) > 0 else math.nan


def by_cell(run: dict | None) -> dict[str, dict]:
    """The metrics of each cell of a run; None: there was none."""
    return {cell["id"]: cell["metrics"] for cell in run["cells"]} if run is not None else {}


def change_text(row: dict, value: float | None) -> str:
    if value is None:
        return "?"
    shown, unit = (100 * value, " %") if row["scale"] == "ratio" else (value, f" {row['unit']}")
    return f"{shown:+.3g}{unit}".replace("-", "−")


def day(time: datetime.datetime) -> str:
    return time.strftime(WHEN)


def short_commit(night: dict) -> str:
    commit = night["commit"]
    if not commit:
        return "unknown commit"
    plain, plus, _ = commit.partition("+")
    return plain[:12] + plus


def interval_text(row: dict, found: dict) -> str:
    if found["ci_lower"] is None or found["ci_upper"] is None:
        return ""
    ends = [change_text(row, found[key]) for key in ("ci_lower", "ci_upper")]
    return f" [{ends[0].removesuffix(' %')}, {ends[1]}]"


def confirmation_words(row: dict, measured: dict | None) -> str:
    if measured is None:
        return ""
    change = "" if measured["change"] is None else f": {change_text(row, measured['change'])}{interval_text(row, measured)}"
    return f"; {measured['verdict']} by {measured['pairs']} pairs{change}"


def change_event(row: dict, change: dict, times: list, nights: dict[str, int]) -> Event:
    """A change point that the weekly search found in a series without an alarm."""
    night = nights[change["night"]]
    commits = (f", commits {short_commit(change['last_good'])}..{short_commit(change['first_bad'])}" if change["last_good"] else "")
    return Event("change", night, f"change: {change_text(row, change['size'])}{interval_text(row, change)} from {day(times[night])}{commits}",
                 worse=change["direction"] == "worse")


def alarm_words(row: dict, alarm: dict, times: list, nights: dict[str, int]) -> str:
    marks = [word for word in ("single", "small", "over", "machine", "blocks") if alarm[word]]
    marks = [{"machine": "the machine", "single": "one night alone"}.get(mark, mark) for mark in marks]
    change, raised = (times[nights[alarm[key]]] for key in ("change_night", "night"))
    return (f"{alarm['kind']}: {change_text(row, alarm['size'])}{interval_text(row, alarm)} from {day(change)} (◇ seen {day(raised)}), "
            f"commits {short_commit(alarm['last_good'])}..{short_commit(alarm['first_bad'])}"
            + (f"; {', '.join(marks)}" if marks else "") + confirmation_words(row, alarm.get("confirmation")))


def alarm_event(kind: str, row: dict, alarm: dict, times: list, nights: dict[str, int]) -> Event:
    words = alarm_words(row, alarm, times, nights)
    if kind == "machine":
        words = f"control build, {words}"
    return Event(kind, nights[alarm["change_night"]], words, nights[alarm["last_good"]["run"]],
                 nights[alarm["first_bad"]["run"]], nights[alarm["night"]], alarm["blocks"], alarm["direction"] == "worse")


def names_of(row: dict) -> list[str]:
    """What a glob of `history ack` may match: the cell's id, with and without its hash, alone or with the metric."""
    ids = [row["cell"], row["cell"].rpartition("-")[0]]
    return [*ids, *(f"{name}:{row['metric']}" for name in ids)]


def events_of(row: dict, history: documents.History, times: list, nights: dict[str, int]) -> list[Event]:
    out = [alarm_event("alarm", row, alarm, times, nights) for alarm in row["alarms"]]
    out += [alarm_event("machine", row, found["alarm"], times, nights) for found in history.trend["machine_alarms"]
            if (found["cell"], found["metric"]) == (row["cell"], row["metric"])]
    out += [change_event(row, found, times, nights) for found in history.trend.get("changes") or []
            if (found["cell"], found["metric"]) == (row["cell"], row["metric"])]
    for line in history.acknowledgements:
        if line["night"] in nights and any(fnmatch.fnmatchcase(name, line["series"]) for name in names_of(row)):
            night = nights[line["night"]]
            out.append(Event("acknowledged", night, f"acknowledged from {day(times[night])} on, by {line['by']}: {line['reason']}"))
    for line in history.pins:
        if line["night"] in nights:
            night = nights[line["night"]]
            creep = ""
            if history.trend["pin"] == {"night": line["night"], "name": line["name"]} and row["creep"] is not None:
                creep = f"; since then {change_text(row, row['creep'])}" + (" (crept)" if row["crept"] else "")
            out.append(Event("pin", night, f"pin {line['name']}, {day(times[night])}{creep}"))
    return sorted(out, key=lambda event: event.night)


def series_of(history: documents.History, rows: list[dict]) -> list[Series]:
    """The series of these rows of the trend, in their order."""
    nights = {night["run"]: place for place, night in enumerate(history.trend["nights"])}
    times = [datetime.datetime.fromisoformat(night["created_at"].replace("Z", "+00:00")) for night in history.trend["nights"]]
    runs = [[by_cell(line[build] if build in line else None) for line in history.nights] for build in ("tip", "reference")]
    out = []
    for row in rows:
        tip, control = ([cells.get(row["cell"], {}).get(row["metric"], {}).get("values", []) for cells in build] for build in runs)
        out.append(Series(row, times, tip, control, events_of(row, history, times, nights)))
    return out
