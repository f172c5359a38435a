"""Trials on measurements of others (tests/stats/data): where nothing changed, and where the changes are published."""

import gzip
import json
import pathlib

TOLERANCE = 0.02


def control_runs(path: pathlib.Path) -> dict[str, dict[str, list[float]]]:
    """night -> benchmark -> values in the order of the repeats."""
    out: dict[str, dict[str, list[tuple[int, float]]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as source:
        next(source)
        for line in source:
            night, _, rest = line.rstrip("\n").partition(",")
            name, repeat, value = rest.rsplit(",", 2)  # names have commas
            out.setdefault(night, {}).setdefault(name, []).append((int(repeat), float(value)))
    return {night: {name: [value for _, value in sorted(values, key=lambda one: one[0])] for name, values in benchmarks.items()}
            for night, benchmarks in sorted(out.items())}


def gates_of(arms, pairs: int) -> list[list[dict]]:
    """One gate for each two sets of benchmarks; benchmarks with too few values are left out."""
    out = []
    for base, head in arms:
        rows = [{"base": base[name][:pairs], "head": head[name][:pairs]} for name in sorted(base.keys() & head.keys())
                if min(len(base[name]), len(head[name])) >= pairs]
        if rows:
            out.append(rows)
    return out


def split(night: dict[str, list[float]], first, second) -> tuple[dict, dict]:
    return {name: first(values) for name, values in night.items()}, {name: second(values) for name, values in night.items()}


def go_trials(data: pathlib.Path) -> list[dict]:
    nights = list(control_runs(data / "go117_control.csv.gz").values())
    odd_even = [split(night, lambda v: v[0::2], lambda v: v[1::2]) for night in nights]
    halves = [split(night, lambda v: v[:len(v) // 2], lambda v: v[len(v) // 2:]) for night in nights]
    consecutive = list(zip(nights, nights[1:]))
    parts = {"odd against even repeats of a night": (odd_even, 12), "first against second half of a night": (halves, 12),
             "consecutive nights": (consecutive, 20)}
    return [{"name": name, "trial": "pairs", "pairs": [5, pairs - 5], "tolerance": TOLERANCE, "gates": gates_of(arms, pairs)}
            for name, (arms, pairs) in parts.items()]


def change_trial(data: pathlib.Path) -> tuple[dict, list[list[int]]]:
    """The trial, and the lists as published."""
    published = json.loads((data / "tigerbeetle.json").read_text())
    lists = [{"max_p": one["max_pvalue"], "min_magnitude": one["min_magnitude"]} for one in published["expected"]]
    if any(one["window"] != 30 for one in published["expected"]):
        raise ValueError("tigerbeetle.json: another window than 30")
    return ({"name": "TigerBeetle", "trial": "changes", "values": [float(value) for value in published["series"]], "lists": lists},
            [one["indexes"] for one in published["expected"]])
