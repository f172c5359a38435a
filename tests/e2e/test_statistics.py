"""scripts/validate_statistics: figures of the product's own rules beside bounds, and a script that cannot say "pass" of what it did not see."""

import json
import math
import random
import subprocess
import sys

import pytest
from conftest import BIN, SOURCE, assert_valid, strict_json

sys.path.insert(0, str(SOURCE / "scripts" / "validation"))
import figures  # noqa: E402
import own_launches  # noqa: E402
import page  # noqa: E402
import public_data  # noqa: E402
import settings  # noqa: E402

BOUNDS = json.loads((SOURCE / "results/statistics/thresholds.json").read_text())["figures"]
TRIAL = BIN / "statistics-trial"


def trial(**setting) -> dict:
    done = subprocess.run([TRIAL], input=json.dumps(setting), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return strict_json(done.stdout)


def script(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, SOURCE / "scripts/validation/main.py", "--bin", BIN, *arguments], capture_output=True, text=True,
                          timeout=240)


def test_the_quick_figures_hold(tmp_path):
    done = script("--quick", "--out", tmp_path)
    document = strict_json((tmp_path / "statistics.json").read_text())
    assert done.returncode == 0 and " 0 fail" in done.stdout, done.stdout + done.stderr
    assert_valid("statistics", document)
    assert {one["name"] for one in document["figures"]} == set(BOUNDS), "a bound without a figure, or the other way round"
    text = (tmp_path / "README.md").read_text()
    assert all(title in text for title in page.TITLES.values())
    assert all(one["outcome"] != "pass" for one in document["figures"] if one["value"] is None)
    assert script("--again", "--out", tmp_path).returncode == 0
    assert strict_json((tmp_path / "statistics.json").read_text()) == document, "judged again, the same trials give other figures"


def test_the_published_figures_are_of_these_trials():
    document = json.loads((SOURCE / "results/statistics/statistics.json").read_text())
    assert_valid("statistics", document)
    assert not document["quick"]
    expected = [{key: value for key, value in one.items() if key != "values"} for one in settings.all_trials(False)]
    made = [one["setting"] for one in document["trials"] if one["setting"]["trial"] not in ("pairs", "changes")]
    assert sorted(map(str, made)) == sorted(map(str, expected)), "run scripts/validate_statistics again"


def test_the_same_seed_gives_the_same_gates():
    setting = {"trial": "gates", "gates": 20, "model": {"s_d": 0.02}}
    assert trial(**setting, seed=5) == trial(**setting, seed=5) != trial(**setting, seed=6)


def test_what_a_model_does_not_know_is_refused():
    for setting, word in (({"trial": "gates", "gates": 1, "seed": 1, "model": {"sd": 0.1}}, '"sd"'), ({"trial": "gate"}, '"gate"'),
                          ({"trial": "level", "model": {}}, "pairs")):
        done = subprocess.run([TRIAL], input=json.dumps(setting), capture_output=True, text=True, timeout=10)
        assert done.returncode == 2 and word in done.stderr and not done.stdout, done


def test_a_machine_that_is_not_level_is_seen():
    slower = trial(trial="gates", gates=20, seed=3, model={"cells": 20, "s_d": 0.005}, planted={"rows": 2, "effect": 0.05})
    assert slower["found"]["hits"] >= 36 and slower["false_regressed_rows"] == 0, slower
    faster = trial(trial="gates", gates=20, seed=3, model={"cells": 20, "s_d": 0.005}, planted={"rows": 2, "effect": -0.05})
    assert faster["found"]["hits"] == 0 and faster["improved_rows"] >= 36, faster


def test_noise_is_what_the_setting_says():
    result = trial(trial="gates", gates=20, seed=4, design="fixed", model={"cells": 120, "s_d": 0.01, "s_d_log_sd": 0, "shock_share": 0})
    assert abs(result["median_spread"] - 0.916 * 0.01) < 0.0003, "the median of chi with 4 degrees of freedom is 0.916 sigma"


def test_the_mean_of_correlated_steps():
    sigma, r, m = 0.05, 0.9, 60
    exact = sigma**2 / m**2 * sum(r ** abs(i - j) for i in range(m) for j in range(m))
    assert settings.variance_of_steps({"sigma_w": sigma, "r1": r, "steps": m}) == pytest.approx(exact, rel=1e-12)


def share(hits: int, trials: int) -> dict:
    return {"hits": hits, "trials": trials, "share": hits / trials, "lower": 0.0, "upper": 1.0}


def quiet(hits: int, trials: int, s_d: float) -> list:
    return [({"trial": "gates", "name": "quiet", "design": "sequential", "planted": {"rows": 0, "effect": 0}, "model": {"s_d": s_d}},
             {"false_block": share(hits, trials), "false_regressed_rows": hits, "improved_rows": 0, "rows": 120 * trials})]


@pytest.mark.parametrize("hits, trials, s_d, outcome", [(3, 300, 0.02, "pass"), (4, 300, 0.02, "fail"), (0, 299, 0.02, "fail"),
                                                        (6, 300, 0.028, "pass"), (7, 300, 0.028, "fail"), (90, 300, 0.05, "reported")])
def test_bounds_of_false_blocks(hits, trials, s_d, outcome):
    assert figures.false_blocks(quiet(hits, trials, s_d), BOUNDS["false_blocks"])[0]["outcome"] == outcome


def test_uneven_errors_and_missing_gates_do_not_pass():
    assert figures.symmetry(quiet(8, 300, 0.02), BOUNDS["symmetry"])[0]["outcome"] == "fail"  # 2 / 2^8 = 0.0078
    assert figures.symmetry(quiet(7, 300, 0.02), BOUNDS["symmetry"])[0]["outcome"] == "pass"  # 2 / 2^7 = 0.0156
    cell = {"rows": 16, "compared": 16, "invalid": 0, "inconclusive": 0, "not_gateable": 0}
    outcomes = [[one["outcome"] for one in figures.apart(BOUNDS, gates, None, None) if one["name"] == "cpu_gates"][0]
                for gates in ([], [{"exit_code": 0} | cell] * 19, [{"exit_code": 3} | cell | {"compared": 0}] * 20,
                              [{"exit_code": 0} | cell] * 20, [{"exit_code": 1} | cell])]
    assert outcomes == ["not measured", "not measured", "not measured", "pass", "fail"]


def test_benchstat_is_timed_on_the_values_that_compare_has(tmp_path):
    program = tmp_path / "benchstat"
    program.write_text(f"""#!{sys.executable}
import sys
for path in sys.argv[1:]:
    lines = open(path).read().splitlines()
    assert len(lines) == 100000 and len(lines[0].split()) == 12 and lines[0].startswith("BenchmarkCell0 1 "), lines[0]
print("sec/op vs base")
""")
    program.chmod(0o755)
    done = script("--benchstat", program, "--out", tmp_path)
    assert done.returncode == 0, done
    kept = strict_json((tmp_path / "benchstat.json").read_text())
    assert kept["values"] == 1_000_000 and kept["compare_s"] > 0 and kept["benchstat_s"] > 0
    program.write_text("#!/bin/sh\necho no such file >&2; exit 1\n")
    done = script("--benchstat", program, "--out", tmp_path)
    assert done.returncode == 2 and "compared nothing" in done.stderr and "no such file" in done.stderr, done


@pytest.mark.parametrize("benchstat_s, outcome", [(5.0, "pass"), (4.99, "fail")])
def test_bound_of_benchstat(benchstat_s, outcome):
    measured = {"values": 1_000_000, "rounds": 3, "compare_s": 1.0, "benchstat_s": benchstat_s, "machine": "a", "made_at": "b"}
    assert figures.against_benchstat(BOUNDS["speed_benchstat"], measured)["outcome"] == outcome
    assert figures.against_benchstat(BOUNDS["speed_benchstat"], None)["outcome"] == "not measured"


def test_a_change_point_that_is_missed_fails():
    published = [[15, 71], [3]]
    done = [({"trial": "changes", "name": ""}, {"found": [[15, 71], [4]]})]
    assert figures.change_points(done, {"lists": 2}, published)[0]["outcome"] == "fail"


def test_repeats_of_the_control_runs_keep_their_order():
    night = next(iter(public_data.control_runs(SOURCE / "tests/stats/data/go117_control.csv.gz").values()))
    assert len(night) == 101 and night["All/search/KNN-12"][:3] == [364358, 367654, 363469]
    assert len(night["ParallelizeUntil/pieces:1000,workers:10,chunkSize:1-12"]) == 25


def test_wrong_usage():
    assert script("--jobs", "0").returncode == 2 and script("--bin", "/nowhere").returncode == 2


def test_nothing_to_judge_again(tmp_path):
    done = script("--again", "--out", tmp_path)
    assert done.returncode == 2 and "statistics.json" in done.stderr, done
    (tmp_path / "statistics.json").write_text('{"schema": "stepgauge.statistics", "version": 2}')
    assert script("--again", "--out", tmp_path).returncode == 2


def calibrated(folder, cells: dict[str, list[float]], gpus: str = "NVIDIA H200"):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"suite": {"name": "pr_gate"}, "fingerprint": {"gpus": [gpus]}, "created_at": "2026-11-30"}))
    records = [{"cell": {"id": cell}, "launch": launch, "status": status, "metrics": {"throughput": {"value": value}}}
               for cell, values in cells.items() for launch, value in enumerate(values)
               for status, value in (("unsteady", 1.0), ("ok", value))]  # each launch was made again
    records.append({"cell": {"id": next(iter(cells))}, "launch": 1000, "status": "crashed", "metrics": {}})
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_launches_of_calibrate_are_gated_again_and_again(tmp_path):
    noise = random.Random(1)
    cells = {cell: [1000 * math.exp(noise.gauss(0, 0.005)) for _ in range(40)] for cell in "abcd"}
    out = tmp_path / "out"
    for name, part in (("first", "ab"), ("second", "cd")):
        done = script("--launches", calibrated(tmp_path / name, {cell: cells[cell] for cell in part}), "--out", out)
        assert done.returncode == 0, done.stderr
    kept = own_launches.read(out / "h200_launches.json")
    assert kept["cells"] == cells and kept["not_ok"] == {"a": 1, "b": 0, "c": 1, "d": 0}
    judged = figures.on_h200(BOUNDS, own_launches.measured(kept, lambda setting: trial(**{key: value for key, value in setting.items() if key != "name"})))
    assert [one["outcome"] for one in judged] == ["pass", "pass", "pass", "reported"], judged
    assert judged[2]["value"] > 9.9 and judged[0]["value"] == 40 and "a 0." in judged[0]["note"] and "2 launches not ok" in judged[0]["note"]
    done = script("--launches", calibrated(tmp_path / "other", cells, "NVIDIA A100"), "--out", out)
    assert done.returncode == 2 and "another suite or machine" in done.stderr
    few = {cell: values[:20] for cell, values in cells.items()}
    assert own_launches.measured(kept | {"cells": few}, trial) is None, "too few for one gate"
    assert [one["outcome"] for one in figures.on_h200(BOUNDS, None)] == ["not measured"] * 3
