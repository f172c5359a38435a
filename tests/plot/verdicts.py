"""Made-up gates, comparisons, trends and histories, valid by the schemas that the CLI prints."""

import datetime
import json
import random

import jsonschema
from conftest import SOURCE

START = datetime.datetime(2026, 1, 1, 2)
MACHINE, SUITE = "2x-nvidia-h200-0a0b0c0d", "nightly"
COUNTS = dict.fromkeys(("expected", "compared", "passed", "regressed", "improved", "inconclusive", "invalid", "missing"), 0)
METRICS = {"throughput": ("tokens/s", "higher", 0.02), "init_latency": ("s", "lower", 0.10), "peak_memory": ("MiB", "lower", 0.01)}


def assert_valid(schema: str, value) -> None:
    known = json.loads((SOURCE / f"harness/contract/schemas/{schema}.schema.json").read_text())
    jsonschema.Draft202012Validator(known).validate(value)


def effect(cell: str, metric: str = "throughput", change: float | None = 0.001, verdict: str = "pass", **more) -> dict:
    """A row that a gate and a comparison share."""
    unit, better, tolerance = METRICS.get(metric, ("", "lower", 0.0))
    near = change is not None
    row = {"cell": cell, "base_cell": "", "metric": metric, "unit": unit, "better": better, "scale": "ratio", "perturbed": False,
           "change": change, "ci_lower": change - 0.004 if near else None, "ci_upper": change + 0.004 if near else None,
           "tolerance": tolerance, "floor": 0.0, "threshold": tolerance if near else None, "mde": 0.0123 if near else None,
           "worse_bound": 0.01 if near else None, "p": None, "p_adjusted": None, "exact": False, "verdict": verdict, "reason": ""}
    return row | more


def gate(rows: list[dict], exit_code: int = 1) -> dict:
    own = {"stage": "screen", "suspicion": "none", "pairs": 5, "base": 100.0, "head": 100.0, "spread": 0.004, "p_sign_flip": None,
           "hodges_lehmann": None, "gateable": True}
    arm = {"arm": ["self"], "launches": {"ok": 5, "failed": 0, "outside": 0}}
    value = {"schema": "stepgauge.gate", "version": 1, "suite": {"name": SUITE, "path": "nightly.yaml"}, "folder": "runs/g",
             "created_at": "2026-11-30T10:00:00Z", "command": ["stepgauge"], "fingerprint": {}, "base": arm,
             "head": arm | {"arm": ["/builds/change", "env:A=$1"]}, "seed": 7, "policy": {}, "attempts": 1, "budget_s": None,
             "elapsed_s": 60, "stopped": "", "interrupted": False, "cells": {"expected": 1, "measured": 1}, "spoilt_pairs": 0,
             "counts": COUNTS | {"not_gateable": 0, "suspected": 0, "expected": len(rows), "compared": len(rows)},
             "rows": [own | row for row in rows], "skipped": [], "software_differences": [], "notes": [], "exit_code": exit_code}
    assert_valid("gate", value)
    return value


def comparison(rows: list[dict], **more) -> dict:
    side = {"launches": 3, "mean": 100.0, "cv": 0.01, "statuses": "3 ok"}
    value = {"schema": "stepgauge.comparison", "version": 1, "suite": SUITE, 
             "base": {"name": "baseline:nightly", "created_at": "", "sessions": 6, "expires_at": ""},
             "head": {"name": "runs/b", "created_at": ""}, "comparable": True, "refusal": "", "machine_differences": [],
             "software_differences": [], "cells": {"expected": 1, "matched": 1, "excluded": 0}, "counts": COUNTS, "advisory": COUNTS,
             "rows": [{"blocking": True, "base": side, "head": side, "base_sessions": 0} | row for row in rows], "only_in_base": [], "only_in_head": [],
             "summaries": [], "notes": [], "exit_code": 1} | more
    assert_valid("comparison", value)
    return value


class Nights:
    """A history file and the trend that `history show` would give of it."""

    def __init__(self, count: int = 60, skip: tuple = ()):
        self.days = [day for day in range(count) if day not in skip]
        self.lines: list[dict] = []
        self.rows: list[dict] = []
        self.machine_alarms: list[dict] = []
        self.changes: list[dict] | None = None
        self.pin = None

    def run_id(self, day: int, tail: str = "00000001") -> str:
        return (START + datetime.timedelta(days=day)).strftime("%Y%m%dT%H%M%SZ-") + tail

    def night(self, day: int) -> dict:
        return {"run": self.run_id(day), "created_at": (START + datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "commit": f"{day:08x}".ljust(40, "0"), "reference_commit": None}

    def run(self, day: int, values: dict, tail: str) -> dict:
        cells = [{"id": cell, "hash": cell[-8:], "statuses": {"ok": 2},
                  "metrics": {"throughput": {"unit": "tokens/s", "values": numbers}} if numbers else {}}
                 for cell, numbers in values.items()]
        return {"run": self.run_id(day, tail), "created_at": self.night(day)["created_at"], "commit": f"{day:08x}".ljust(40, "0"), "source": "n",
                "cells": cells}

    def fill(self, cells: dict, control: dict | None = None) -> "Nights":
        """Functions of the night give the level of each cell, or None; two launches a night."""
        noise = random.Random(1)
        for day in self.days:
            pair = [{cell: [level(day) * noise.gauss(1, 0.004) for _ in range(2)] if level(day) else [] for cell, level in
                     some.items()} for some in (cells, control or {})]
            line = {"schema": "stepgauge.history", "version": 1, "kind": "night", "suite": SUITE, "added_at": "2026-03-02T00:00:00Z",
                    "fingerprint": {"cpu": {"model": "x", "cores": 2}}, "tip": self.run(day, pair[0], "00000001")}
            if control:
                line["reference"] = self.run(day, pair[1], "00000002")
            self.lines.append(line)
        return self

    def alarm(self, day: int, size: float, **more) -> dict:
        return {"kind": "sustained", "direction": "worse", "night": self.run_id(day + 2), "change_night": self.run_id(day),
                "last_good": self.night(day - 1), "first_bad": self.night(day), "localised": True, "size": size,
                "ci_lower": size - 0.005, "ci_upper": size + 0.005, "small": False, "single": False, "over": False, "machine": False,
                "confirmation": None, "blocks": True} | more

    def row(self, cell: str, alarms: tuple = (), **more) -> None:
        row = {"cell": cell, "metric": "throughput", "unit": "tokens/s", "better": "higher", "scale": "ratio", "blocking": True,
               "threshold": 0.02, "nights": len(self.days), "gap": 0, "last_night": self.run_id(self.days[-1]), "last": 100.0,
               "centre": 100.0, "change": 0.001, "noise": 0.004, "against_reference": False, "creep": None, "crept": False,
               "acknowledged": None, "alarms": list(alarms), "state": "alarm" if alarms else "quiet", "reason": ""}
        self.rows.append(row | more)

    def event(self, kind: str, **fields) -> None:
        self.lines.append({"schema": "stepgauge.history", "version": 1, "kind": kind, "at": "2026-03-02T00:00:00Z"} | fields)

    @property
    def trend(self) -> dict:
        states = [row["state"] for row in self.rows]
        value = {"schema": "stepgauge.trend", "version": 1, "suite": SUITE, "machine": MACHINE,
                 "nights": [self.night(day) for day in self.days], "pin": self.pin,
                 "counts": {"series": len(states), "fresh": states.count("new"),
                            **{key: states.count(key) for key in ("alarm", "quiet", "shown", "vanished")}},
                 "rows": self.rows, "machine_alarms": self.machine_alarms, "changes": self.changes, "notes": [],
                 "exit_code": 1}
        assert_valid("trend", value)
        return value

    def write(self, folder) -> None:
        """trend.json, and the history's file below `history`."""
        for line in self.lines:
            assert_valid("history", line)
        path = folder / "history" / MACHINE / f"{SUITE}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        (folder / "trend.json").write_text(json.dumps({"histories": [self.trend], "exit_code": 1}))
