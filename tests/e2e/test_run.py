"""A run from suite to records: files, selection, odd names."""

import json

from conftest import FAILED, OK, SMALL, STUB, USAGE, assert_valid, strict_json


def test_small_suite(work):
    done = work.run("small.yaml", "a")
    assert done.code == OK, done
    assert done.out.startswith("a: suite small, 4 cells, 8 of 8 launches ok, 0 skipped\n") and done.err == ""
    work.assert_files_valid("a")
    records = work.records("a")
    assert len({(record["cell"]["id"], record["launch"]) for record in records}) == len(records) == 8
    assert [record["launch"] for record in records] == [0] * 4 + [1] * 4  # cells take turns
    run = strict_json((work.path / "a/run.json").read_text())
    assert run["workers"] == {"stepgauge": [str(STUB)]} and run["suite"]["name"] == "small"
    assert [cell["id"] for cell in run["cells"]] == [record["cell"]["id"] for record in records[:4]]


def test_the_numbers_are_those_of_the_worker(work):
    done = work.run("small.yaml", "a", "--step-ms", "12.345678901234567", "--memory", "77")
    assert done.code == OK, done
    for record in work.records("a"):
        assert record["metrics"]["step_time"] == {"value": 12.345678901234567, "unit": "ms"}
        assert record["metrics"]["peak_memory"]["value"] == 77
        steps = record["ranks"][0]["step_ms"]
        measured = steps[record["ranks"][0]["measured_from"]:]
        assert len(measured) == 20
        work_done = record["ranks"][0]["work_per_step"] * len(measured)
        throughput = record["metrics"]["throughput"]["value"]
        assert abs(throughput / (work_done / (sum(measured) / 1000)) - 1) < 1e-12  # a ratio of sums


def test_ranks(work):
    work.write("two.yaml", SMALL.replace("device: cpu", "device: cpu, ddp: 2"))
    done = work.run("two.yaml", "a", "--rendezvous")
    assert done.code == OK, done
    work.assert_files_valid("a")
    for record in work.records("a"):
        assert [rank["rank"] for rank in record["ranks"]] == [0, 1]


def test_list_json_counts_like_run(work):
    listed = work("list", "small.yaml", "--json", "--launches", "5", "--skip", "*.b4/*").json
    for cell in listed["cells"]:
        assert_valid("cell", {key: value for key, value in cell.items() if key != "estimated_s"})
    assert (listed["suite"], len(listed["cells"]), len(listed["skipped"])) == ("small", 2, 2)
    assert [cell["launches"] for cell in listed["cells"]] == [5, 5]
    done = work.run("small.yaml", "a", more=("--launches", "5", "--skip", "*.b4/*", "--json"))
    assert done.code == OK and len(work.records("a")) == 10
    assert [cell["id"] for cell in done.json["cells"]] == [cell["id"] for cell in listed["cells"]]
    assert [cell["ok"] for cell in done.json["cells"]] == [5, 5]


def test_selection(work):
    def chosen(*arguments):
        return [cell["id"].rpartition("-")[0] for cell in work("list", "small.yaml", "--json", *arguments).json["cells"]]

    llama2, llama4 = "llama.tiny.b2/eager/fp32/cpu.ddp1", "llama.tiny.b4/eager/fp32/cpu.ddp1"
    assert chosen("--only", "llama*") == [llama2, llama4]
    assert chosen("--only", "llama*", "--skip", "*.b2/*") == [llama4]
    assert chosen("--only", "llama*b2*", "--only", "*.b4/*")[:2] == [llama2, llama4]
    assert len(chosen("--only", "llama.tiny.b[24]/*", "*resnet*")) == 4
    nothing = work("list", "small.yaml", "--only", "lama.tiny*")
    assert nothing.code == USAGE and '"lama.tiny*"' in nothing.err and "llama.tiny" in nothing.err


def test_nothing_to_run_is_not_success(work):
    done = work.run("small.yaml", "a", more=("--skip", "*"))
    assert done.code in (USAGE, FAILED), done
    assert not (work.path / "a").exists()
    work.write("gpu.yaml", SMALL.replace("device: cpu", "device: cpu, precision: fp32").replace(
        "measure:", "requires: {memory_gib: 9000000}\nmeasure:"))
    done = work.run("gpu.yaml", "b")
    assert done.code == FAILED and "memory" in done.err, done


ODD = "it's \"quoted\"\nnext=line\té ü 漢 $HOME %n {} \\ ; rm *"


def test_odd_characters_survive(work):
    suite = {"stepgauge": 1, "name": "odd", "launches": 2, "defaults": {"device": "cpu", "env": {"NCCL_ODD": ODD}},
             "axes": {"workload": ["llama.tiny"], "batch": [1, 2]}}
    work.write("odd.json", json.dumps(suite))
    done = work.run("odd.json", "a folder with 'é' and spaces")
    assert done.code == OK, done
    work.assert_files_valid("a folder with 'é' and spaces")
    for record in work.records("a folder with 'é' and spaces"):
        assert record["ranks"][0]["environment"]["NCCL_ODD"] == ODD
    run = strict_json((work.path / "a folder with 'é' and spaces/run.json").read_text())
    assert [cell["env"]["NCCL_ODD"] for cell in run["cells"]] == [ODD, ODD]
    listed = work("list", "odd.json")
    assert len(listed.out.splitlines()) == 3 and "\t" not in listed.out, listed
    saved = work("baseline", "save", "a folder with 'é' and spaces", "--baselines", "b é")
    assert saved.code == OK, saved
    assert work("baseline", "show", "baseline:odd", "--baselines", "b é").code == OK
    compared = work("compare", "a folder with 'é' and spaces", "baseline:odd", "--baselines", "b é", "--json",
                    "--only", run["cells"][0]["id"].replace("\\", "?").replace("*", "?"))
    assert_valid("comparison", compared.json)


def test_yaml_and_json_mean_the_same(work):
    work.write("same.json", json.dumps({
        "stepgauge": 1, "name": "small", "launches": 2, "defaults": {"device": "cpu"}, "measure": {"steps": 20},
        "axes": {"workload": ["llama.tiny", {"name": "resnet18", "width": 8, "image": 32}], "batch": [2, 4]}}))
    assert work("list", "same.json", "--json").json == work("list", "small.yaml", "--json").json


def test_a_cell_variable_wins_and_the_shell_is_filtered(work):
    work.write("env.yaml", SMALL.replace("device: cpu", 'device: cpu, env: {NCCL_DEBUG: "cell"}'))
    done = work.run("env.yaml", "a", "--dump-environment", env={"NCCL_DEBUG": "shell", "SECRET_OF_MINE": "x", "NCCL_ALGO": "y"})
    assert done.code == OK, done
    seen = work.records("a")[0]["ranks"][0]["environment"]
    assert seen["NCCL_DEBUG"] == "cell" and seen["NCCL_ALGO"] == "y" and "SECRET_OF_MINE" not in seen
