"""scripts/validate_statistics: every figure of the statistics beside its bound."""

import argparse
import concurrent.futures
import datetime
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import benchstat
import cpu_gates
import figures
import own_launches
import page
import public_data
import settings

OK, FAILED, USAGE = 0, 1, 2
ROOT = pathlib.Path(__file__).parents[2]
TEXT = """\
Runs the gate's and the history's own rules on simulated launches, public data and (--cpu-gates) this machine, and sets every figure beside
the bound that thresholds.json had before. Writes statistics.json (schema statistics), README.md and pictures.
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/validate_statistics", description=TEXT, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 no figure that was measured fails, 1 one fails, 2 wrong usage or a program is missing")
    parser.add_argument("--quick", action="store_true", help="fewer settings and gates, without pictures: under a minute")
    parser.add_argument("--again", action="store_true", help="judge the trials of DIR/statistics.json again, with new bounds, CPU gates, launches or benchstat; runs none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="trials at a time (default: the processors)")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where to (default: results/statistics; --quick: build/statistics)")
    parser.add_argument("--cpu-gates", type=int, metavar="N", help="only: N more A/A gates of configs/smoke.yaml here, kept in DIR/cpu_gates.jsonl")
    parser.add_argument("--only", metavar="GLOB", help="with --cpu-gates: cells of the suite")
    parser.add_argument("--worker", metavar="CMD", help="with --cpu-gates: another worker for both arms")
    parser.add_argument("--launches", type=pathlib.Path, metavar="RUN",
                        help="only: take the launches of a calibrate run on H200 into DIR/h200_launches.json, judged by the next call")
    parser.add_argument("--benchstat", metavar="PROGRAM",
                        help="only: Go's benchstat beside compare, 1,000,000 values; kept in DIR/benchstat.json, judged by the next call")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", metavar="DIR", help="where the programs are")
    options = parser.parse_args(arguments)
    if options.jobs < 1 or (options.cpu_gates is not None and options.cpu_gates < 1):
        parser.error("--jobs and --cpu-gates are numbers from 1 on")
    if options.out is None:
        options.out = ROOT / ("build/statistics" if options.quick else "results/statistics")
    return options


def run_trial(program: pathlib.Path, setting: dict) -> dict:
    """One trial, one process: JSON in, JSON out."""
    asked = {key: value for key, value in setting.items() if key != "name"}
    process = subprocess.run([program], input=json.dumps(asked), capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"{setting['name']}: {process.stderr.strip()}")
    return json.loads(process.stdout)


def run_all(program: pathlib.Path, trials: list[dict], jobs: int) -> figures.Done:
    timed = [trial for trial in trials if trial["trial"] == "speed"]  # alone, so that nothing else is in its caches
    others = [trial for trial in trials if trial["trial"] != "speed"]
    done = [(trial, run_trial(program, trial)) for trial in timed]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (trial, result) in enumerate(zip(others, pool.map(lambda one: run_trial(program, one), others)), 1):
            done.append((trial, result))
            if sys.stderr.isatty():
                print(f"\r{number} of {len(others)} trials", end="", file=sys.stderr, flush=True)
    return done


def machine() -> str:
    model = next((line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} processors ({model})"


def utc_now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def without_data(setting: dict) -> dict:
    """Public data are not written again."""
    return {key: value for key, value in setting.items() if key not in ("gates", "values") or isinstance(value, int)}


def made_document(options: argparse.Namespace) -> dict:
    """Runs every trial; without figures yet."""
    begin = time.monotonic()
    data = ROOT / "tests/stats/data"
    trials = [*settings.all_trials(options.quick), *public_data.go_trials(data), public_data.change_trial(data)[0]]
    done = run_all(options.bin / "statistics-trial", trials, options.jobs)
    return {"schema": "stepgauge.statistics", "version": 1, "quick": options.quick, "made_at": utc_now(),
            "seconds": round(time.monotonic() - begin, 1), "machine": machine(), "figures": [],
            "trials": [{"setting": without_data(setting), "result": result} for setting, result in done]}


def kept_document(path: pathlib.Path) -> dict:
    document = json.loads(path.read_text(encoding="utf-8"))
    if (document.get("schema"), document.get("version")) != ("stepgauge.statistics", 1):
        raise ValueError(f"{path}: not a stepgauge.statistics of version 1")
    return document


def validate(options: argparse.Namespace) -> int:
    bounds = json.loads((ROOT / "results/statistics/thresholds.json").read_text())["figures"]
    document = kept_document(options.out / "statistics.json") if options.again else made_document(options)
    done = [(one["setting"], one["result"]) for one in document["trials"]]
    published = public_data.change_trial(ROOT / "tests/stats/data")[1]
    own = own_launches.measured(own_launches.read(options.out / "h200_launches.json"),
                                lambda setting: run_trial(options.bin / "statistics-trial", setting))
    judged = figures.all_figures(done, bounds, published, cpu_gates.read(options.out / "cpu_gates.jsonl"),
                                 benchstat.read(options.out / "benchstat.json"), own, document["quick"])
    document["figures"] = judged
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "statistics.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    names = []
    if not document["quick"] and importlib.util.find_spec("matplotlib"):
        import pictures
        names = pictures.draw(done, bounds, options.out)
    (options.out / "README.md").write_text(page.markdown(document, bounds, names), encoding="utf-8")
    failed = [one for one in judged if one["outcome"] == figures.FAIL]
    for one in failed:
        print(f"FAIL {one['name']}: {one['setting']}: {page.number(one['value'])}, bound {one['bound']} {one['note']}")
    print(f"{sum(one['outcome'] == figures.PASS for one in judged)} figures pass, {len(failed)} fail, in {document['seconds']:.0f} s; "
          f"{options.out / 'README.md'}")
    return FAILED if failed else OK


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    needed = "stepgauge" if options.cpu_gates else "statistics-trial"
    if not (options.bin / needed).exists():
        print(f"validate_statistics: {options.bin / needed} is not built (scripts/setup builds it)", file=sys.stderr)
        return USAGE
    try:
        if options.cpu_gates:
            options.out.mkdir(parents=True, exist_ok=True)
            more = [part for name, value in (("--only", options.only), ("--worker", options.worker)) if value for part in (name, value)]
            cpu_gates.add_gates(options.cpu_gates, options.bin / "stepgauge", ROOT / "configs/smoke.yaml", options.out / "cpu_gates.jsonl", more)
            return OK
        if options.launches:
            options.out.mkdir(parents=True, exist_ok=True)
            cells = own_launches.add(options.launches, options.out / "h200_launches.json")["cells"]
            print(f"{len(cells)} cells, {min(map(len, cells.values()))} launches and more each")
            return OK
        if options.benchstat:
            measured = benchstat.measure(options.benchstat, lambda setting: run_trial(options.bin / "statistics-trial", setting))
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "benchstat.json").write_text(json.dumps({**measured, "machine": machine(), "made_at": utc_now()}, indent=1) + "\n", encoding="utf-8")
            print(f"benchstat {measured['benchstat_s']:.2f} s, compare {measured['compare_s']:.2f} s")
            return OK
        return validate(options)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        print(f"validate_statistics: {error}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
