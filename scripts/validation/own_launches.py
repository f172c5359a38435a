"""Gates of launches that calibrate made on a machine of one's own, paired again and again: where nothing changed, and with a change planted
into the numbers."""

import json
import math
import pathlib
import random
import statistics
from collections.abc import Callable

METRIC = "throughput"
TOLERANCE = 0.02
SCREEN, CONFIRM = 5, 15
PAIRS = SCREEN + CONFIRM
GATES = 200  # each with its own pairs
SEED = 20261130


def launches_of(run: pathlib.Path) -> dict:
    """What a run folder of calibrate has: per cell the metric of its ok launches (the last attempt of each), in order, and how many are not ok."""
    about = json.loads((run / "run.json").read_text(encoding="utf-8"))
    last: dict[str, dict[int, dict]] = {}
    for line in (run / "records.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("warm_up"):
            continue
        last.setdefault(record["cell"]["id"], {})[record["launch"]] = record
    cells = {cell: [record["metrics"][METRIC]["value"] for _, record in sorted(launches.items()) if record["status"] == "ok"]
             for cell, launches in last.items()}
    return {"suite": about["suite"]["name"], "machine": about["fingerprint"], "measured_at": about["created_at"], "metric": METRIC, "cells": cells,
            "not_ok": {cell: len(launches) - len(cells[cell]) for cell, launches in last.items()}}


def add(run: pathlib.Path, path: pathlib.Path) -> dict:
    """Joins the cells of a run to those of the file, which are of one suite and one kind of machine."""
    new, known = launches_of(run), read(path)
    if not new["cells"]:
        raise ValueError(f"{run}: no launch in it")
    if known is not None:
        if any(known[key] != new[key] for key in ("suite", "metric")) or known["machine"]["gpus"] != new["machine"]["gpus"]:
            raise ValueError(f"{path} is of another suite or machine than {run}")
        for part in ("cells", "not_ok"):
            new[part] = known[part] | new[part]
    path.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    return new


def read(path: pathlib.Path) -> dict | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def s_d(values: list[float]) -> float:
    """Standard deviation of the log ratio of two launches that follow one another."""
    ratios = [math.log(second / first) for first, second in zip(values[0::2], values[1::2])]
    return statistics.stdev(ratios)


def gates(cells: dict[str, list[float]], effect: float) -> dict:
    """A `pairs` trial. Values are times (of a unit of work), so that more is worse; each gate slows another cell of its head by `effect`."""
    shuffle = random.Random(SEED)
    names, out = sorted(cells), []
    for number in range(GATES):
        rows = []
        for index, name in enumerate(names):
            times = [1 / value for value in cells[name]]
            shuffle.shuffle(times)
            slower = 1 + effect if index == number % len(names) else 1
            rows.append({"base": times[:PAIRS], "head": [slower * value for value in times[PAIRS:2 * PAIRS]]})
        out.append(rows)
    return {"trial": "pairs", "pairs": [SCREEN, CONFIRM], "tolerance": TOLERANCE, "gates": out}


def measured(launches: dict | None, run_trial: Callable[[dict], dict]) -> dict | None:
    """What the figures need; None where there are no launches, or too few for one gate."""
    if launches is None:
        return None
    cells = {name: values for name, values in launches["cells"].items() if len(values) >= 2 * PAIRS}
    if not cells:
        return None
    named = {f"launches paired again, {effect:.0%} planted": effect for effect in (0, 0.05, 0.02)}
    found = {effect: run_trial({"name": name} | gates(cells, effect)) for name, effect in named.items()}
    return {"launches": min(map(len, launches["cells"].values())), "not_ok": sum(launches["not_ok"].values()), "cells": len(launches["cells"]), "gated": len(cells),
            "s_d": {name: s_d(values) for name, values in sorted(cells.items())}, "quiet": found[0], "planted": {0.05: found[0.05], 0.02: found[0.02]},
            "measured_at": launches["measured_at"]}
