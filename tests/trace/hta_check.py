"""HolisticTraceAnalysis on a launch's kept traces, beside what stepgauge says of them (percentage points).

Not part of the test suite: HTA is not among the project's requirements. Usage, with an environment that has it
(pip install HolisticTraceAnalysis==0.5.0):
    python tests/trace/hta_check.py LAUNCH_FOLDER build/bin/stepgauge
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


# HTA shortens every event to whole microseconds (begin up, end down) unless told not to; of 600 short kernels a step that
# is a per cent.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"


def hta(folder: pathlib.Path) -> dict:
    from hta.trace_analysis import TraceAnalysis

    with tempfile.TemporaryDirectory() as copy:  # HTA reads every file of its folder
        for trace in sorted(folder.glob("rank*.trace.json.gz")):
            shutil.copy(trace, copy)
        analysis = TraceAnalysis(trace_dir=copy)
        times = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
        overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")
    return {int(rank): {"idle": row["idle_time_pctg"], "compute": row["compute_time_pctg"],
                        "overlap": float(overlap.loc[rank, "comp_comm_overlap_pctg"])} for rank, row in times.iterrows()}


def ours(folder: pathlib.Path, stepgauge: str) -> dict:
    text = subprocess.run([stepgauge, "trace", "show", folder, "--json"], capture_output=True, text=True, check=True).stdout
    out = {}
    for rank in json.loads(text)["ranks"]:
        parts = rank["breakdown"]
        out[rank["rank"]] = {"idle": 100 * parts["idle_ratio"], "compute": 100 * (1 - parts["stall_ratio"]),
                             "overlap": 100 * parts["overlap_ratio"]}
    return out


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    theirs, mine = hta(folder), ours(folder, sys.argv[2])
    worst = 0.0
    for rank in sorted(mine):
        for name, value in mine[rank].items():
            other = theirs[rank][name]
            worst = max(worst, abs(value - other))
            print(f"rank {rank} {name:8} stepgauge {value:6.2f} %  HTA {other:6.2f} %  difference {value - other:+.2f} points")
    print(f"largest difference: {worst:.2f} points")
    sys.exit(worst > 1)


if __name__ == "__main__":
    main()
