"""HolisticTraceAnalysis on a launch's kept traces, beside what stepgauge says of them (percentage points).

Not part of the test suite: HTA is not among the project's requirements. Usage, with an environment that has it
(pip install HolisticTraceAnalysis==0.5.0):
    python tests/trace/hta_check.py LAUNCH_FOLDER build/bin/stepgauge
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


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
    return {rank["rank"]: rank for rank in json.loads(text)["ranks"]}


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    print(json.dumps({"hta": hta(folder), "stepgauge": ours(folder, sys.argv[2])}, indent=1, default=str)[:6000])


if __name__ == "__main__":
    main()
