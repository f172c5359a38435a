"""A/A gates of the smoke suite with the real worker on this machine."""

import json
import pathlib
import subprocess
import tempfile


def one_gate(stepgauge: pathlib.Path, suite: pathlib.Path, seed: int, more: list[str]) -> dict:
    """Runs a gate of the suite against itself; what matters of its verdict."""
    with tempfile.TemporaryDirectory(prefix="stepgauge-gate-") as folder:
        process = subprocess.run([stepgauge, "gate", suite, "--base", "self", "--head", "self", "--seed", str(seed), "--out",
                                  pathlib.Path(folder, "gate"), "--json", "--quiet", *more], capture_output=True, text=True, check=False)
        if not process.stdout.strip():
            raise RuntimeError(f"stepgauge gate ended with exit code {process.returncode}: {process.stderr.strip()[-500:]}")
        gate = json.loads(process.stdout)
    counts = gate["counts"]
    spreads = {f"{row['cell']}:{row['metric']}": row["spread"] for row in gate["rows"]}
    told = [{"cell": row["cell"], "metric": row["metric"], "verdict": row["verdict"], "reason": row["reason"]}
            for row in gate["rows"] if row["verdict"] != "pass"]
    return {"seed": seed, "exit_code": process.returncode, "rows": counts["expected"],
            "compared": counts["compared"], "invalid": counts["invalid"], "inconclusive": counts["inconclusive"],
            "not_gateable": counts["not_gateable"], "suspected": counts["suspected"], "launches": gate["head"]["launches"],
            "elapsed_s": gate["elapsed_s"], "created_at": gate["created_at"], "s_d": spreads, "not_passed": told}


def add_gates(count: int, stepgauge: pathlib.Path, suite: pathlib.Path, out: pathlib.Path, more: list[str]) -> None:
    """Appends to OUT one gate a line; each has the next seed, and none is left out."""
    have = read(out)
    for seed in range(1 + len(have), 1 + len(have) + count):
        gate = one_gate(stepgauge, suite, seed, more)
        with out.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(gate) + "\n")
        print(f"gate {seed}: exit code {gate['exit_code']}, {gate['not_gateable']} of {gate['rows']} rows not gateable, "
              f"{gate['elapsed_s']:.0f} s", flush=True)


def read(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
