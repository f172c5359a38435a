"""Compile modes as the CLI sees them: what is listed, caches cold and warm, and how long a compiler may be silent."""

import signal

import pytest
from conftest import FAILED, OK, STUB, assert_valid, stub, wait_for

SUITE = """\
stepgauge: 1
name: modes
launches: 2
defaults: {{device: cpu, workload: llama.tiny{defaults}}}
axes:
  compile: {compile}
  cache: {cache}
measure: {{steps: 20}}
limits: {limits}
"""


def suite(work, compile="[compile.default]", cache="[warm]", defaults="", limits="{launch: 60s, silence: 30s, grace: 300ms}"):
    return work.write("modes.yaml", SUITE.format(compile=compile, cache=cache, defaults=defaults, limits=limits))


def launches(work) -> list[str]:
    return sorted(path.name for path in (work.path / "a/launches").iterdir())


def test_what_cannot_be_is_listed_with_its_reason(work):
    suite(work, "[eager, cuda_graph, compile.default, compile.reduce-overhead]", "[cold, warm]")
    listed = work("list", "modes.yaml", "--json").json
    assert [cell["id"].split("/")[1] for cell in listed["cells"]] == ["eager", "compile.default.cold", "compile.default.warm"]
    for cell in listed["cells"]:
        assert_valid("cell", {key: value for key, value in cell.items() if key != "estimated_s"})
    assert [(cell["id"].split("/")[1], cell["status"], cell["reason"]) for cell in listed["skipped"]] == [
        ("cuda_graph", "unsupported", "a CUDA graph needs device cuda"),
        ("compile.reduce-overhead.cold", "unsupported", "compile.reduce-overhead adds CUDA graphs, which need device cuda"),
        ("compile.reduce-overhead.warm", "unsupported", "compile.reduce-overhead adds CUDA graphs, which need device cuda")]
    done = work.run("modes.yaml", "a")
    assert done.code == OK and "a CUDA graph needs device cuda" in done.out, done
    assert len(work.records("a")) == 6
    work.assert_files_valid("a")


def test_estimates_know_of_compiling(work):
    suite(work, "[eager, compile.default]", "[cold, warm]")
    eager, cold, warm = work("list", "modes.yaml", "--json").json["cells"]
    assert eager["estimated_s"] < warm["estimated_s"] and eager["estimated_s"] < cold["estimated_s"]
    assert "by what each compile mode takes to start" in work("list", "modes.yaml").out
    suite(work, "[compile.default]", "[warm]")
    (alone,) = work("list", "modes.yaml", "--json").json["cells"]
    assert alone["estimated_s"] > warm["estimated_s"], "a launch that only fills caches"
    (one,) = work("list", "modes.yaml", "--json", "--launches", "1").json["cells"]
    assert alone["estimated_s"] < 2 * one["estimated_s"], "it counts once a cell"


def test_options_of_a_mode(work):
    suite(work, "[{mode: compile.default, fullgraph: true, dynamic: off}]", "[cold]")
    (cell,) = work("list", "modes.yaml", "--json").json["cells"]
    assert cell["compile_options"] == {"fullgraph": True, "dynamic": "off"}
    suite(work, "[{mode: torchscript, fullgraph: true}]", "[cold]")
    done = work("list", "modes.yaml")
    assert done.code == 2 and "modes.yaml:6:33" in done.err and "it has executor" in done.err, done


def test_a_cold_start_has_caches_of_its_own(work):
    suite(work, cache="[cold]", defaults=", ddp: 2")
    done = work.run("modes.yaml", "a", "--dump-environment", env={"TRITON_CACHE_DIR": "/somewhere"})
    assert done.code == OK, done
    records = work.records("a")
    seen = {rank["environment"][name] for record in records for rank in record["ranks"]
            for name in ("STEPGAUGE_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")}
    assert len(seen) == 2 * 2 * 4, "ranks and launches share nothing"
    for record in records:
        folder = work.path / "a" / record["evidence"]["folder"]
        for rank in record["ranks"]:
            environment, cache = rank["environment"], folder / "cache" / f"rank{rank['rank']}"
            assert environment["STEPGAUGE_CACHE_DIR"] == str(cache)
            assert environment["TORCHINDUCTOR_CACHE_DIR"] == str(cache / "inductor")
        assert record["evidence"]["cache_mib"] > 0 and not (folder / "cache").exists(), "removed once it has served"
        assert [item["shell"] for item in record["evidence"]["environment_conflicts"]] == ["/somewhere"]


def test_the_cold_caches_of_a_launch_that_failed_are_kept(work):
    suite(work, cache="[cold]")
    assert work.run("modes.yaml", "a", "--mode", "die", "--launch", "1").code == FAILED
    good, bad = work.records("a")
    assert (good["status"], bad["status"]) == ("ok", "crashed")
    assert not (work.path / "a" / good["evidence"]["folder"] / "cache").exists()
    assert (work.path / "a" / bad["evidence"]["folder"] / "cache/rank0").is_dir()


def test_a_warm_start_is_filled_first_and_once(work):
    suite(work, defaults=", ddp: 2")
    done = work.run("modes.yaml", "a", "--dump-environment")
    assert done.code == OK and "2 of 2 launches ok" in done.out, done
    records = work.records("a")
    assert [record["launch"] for record in records] == [0, 1], "the filling launch is not in the journal"
    names = launches(work)
    assert len(names) == 3 and names[1] == names[0] + "-fill" and names[0].endswith("-l0a1"), names
    for record in records:
        assert record["evidence"]["cache_filled_by"] == f"launches/{names[1]}" and record["evidence"]["cache_mib"] > 0
        for rank in record["ranks"]:
            folder = rank["environment"]["STEPGAUGE_CACHE_DIR"]
            assert folder == str(work.path / "a/caches" / record["cell"]["hash"] / f"rank{rank['rank']}")
            assert (work.path / folder / "stamp.json").exists()
    work.assert_files_valid("a")


def test_a_cold_launch_fills_the_caches_of_its_warm_twin(work):
    suite(work, cache="[cold, warm]", defaults=", ddp: 2")
    done = work.run("modes.yaml", "a", "--dump-environment")
    assert done.code == OK and "4 of 4 launches ok" in done.out, done
    first_cold, first_warm, second_cold, second_warm = work.records("a")
    assert len(launches(work)) == 4, "no launch only to fill caches"
    for record in (first_warm, second_warm):
        assert record["evidence"]["cache_filled_by"] == first_cold["evidence"]["folder"]
    folders = [[rank["environment"]["STEPGAUGE_CACHE_DIR"] for rank in record["ranks"]]
               for record in (first_cold, first_warm, second_cold, second_warm)]
    assert folders[0] == folders[1] == folders[3], "caches hold absolute paths: they are not moved"
    assert not set(folders[2]) & set(folders[0]), "the second cold start is as cold as the first"
    assert first_cold["evidence"]["cache_mib"] > 0
    work.assert_files_valid("a")


def test_a_cold_launch_that_failed_fills_nothing(work):
    suite(work, cache="[cold, warm]")
    work.write("worker.sh", f"""\
case "$STEPGAUGE_CACHE_DIR" in */caches/*) [ -e fell ] || {{ : > fell; kill -9 $$; }};; esac
exec {STUB}
""")
    done = work("run", "modes.yaml", "--quiet", "--out", "a", "--launches", "1", "--worker", "sh worker.sh")
    assert done.code == FAILED, done
    cold, warm = work.records("a")
    assert (cold["status"], warm["status"]) == ("crashed", "ok")
    assert warm["evidence"]["cache_filled_by"].endswith("-fill")


def test_damaged_caches_are_refused_and_filled_again(work):
    suite(work)
    work.write("worker.sh", f"""\
[ "$STEPGAUGE_LAUNCH" = 1 ] && [ -f "$STEPGAUGE_CACHE_DIR/stamp.json" ] && echo x > "$TORCHINDUCTOR_CACHE_DIR/graph.bin"
exec {STUB}
""")
    done = work("run", "modes.yaml", "--quiet", "--out", "a", "--launches", "3", "--worker", "sh worker.sh")
    assert done.code == FAILED, done
    first, second, third = work.records("a")
    assert [record["status"] for record in (first, second, third)] == ["ok", "ineffective", "ok"]
    assert "damaged" in second["reason"]
    filled = [record["evidence"]["cache_filled_by"] for record in (first, second, third)]
    assert filled[0] == filled[1] != filled[2] and filled[2].endswith("-l2a1-fill")


def test_a_filling_launch_that_fails(work):
    suite(work)
    done = work.run("modes.yaml", "a", "--mode", "die", "--launch", "0")
    assert done.code == FAILED, done
    first, second = work.records("a")
    assert first["status"] == "crashed" and second["status"] == "ok"
    assert first["reason"].startswith("the launch that was to fill its caches: the worker died by SIGKILL")
    assert first["evidence"]["folder"] == first["evidence"]["cache_filled_by"] == f"launches/{launches(work)[0]}"
    assert first["metrics"]["throughput"] == {"absent": "the launch ended as crashed"}
    assert "-l0a1-fill" in done.out, "a person finds its logs"
    assert work.left_running() == []


def test_caches_that_nobody_vouches_for(work):
    suite(work)
    done = work.run("modes.yaml", "a", "--mode", "no-stamp")
    assert done.code == FAILED, done
    for record in work.records("a"):
        assert record["status"] == "ineffective" and "rank 0 left no stamp.json" in record["reason"]


def test_a_late_recompile_is_not_the_machines_doing(work):
    suite(work, cache="[cold]")
    assert work.run("modes.yaml", "a", "--mode", "unsteady", "--late-recompile", more=("--launches", "1")).code == FAILED
    assert [(record["status"], record["attempt"]) for record in work.records("a")] == [("unsteady", 1)]


def test_interrupted_while_caches_are_filled(work):
    suite(work)
    run = work.start("run", "modes.yaml", "--quiet", "--out", "a", "--worker", stub("--realtime", "--step-ms", "20"))
    wait_for(lambda: list(work.path.glob("a/launches/*-fill/rank0.out")), "the filling launch")
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=20)
    assert run.returncode == FAILED and "--resume a" in errors, errors
    assert not (work.path / "a/records.jsonl").read_text() and work.left_running() == []
    done = work("run", "modes.yaml", "--quiet", "--resume", "a")
    assert done.code == OK and [record["status"] for record in work.records("a")] == ["ok", "ok"], done


@pytest.mark.parametrize("mode, compile_s, status", [("compile.default", "20s", "ok"), ("torchscript", "20s", "ok"),
                                                     ("compile.default", "2s", "hung"), ("eager", "20s", "hung")])
def test_how_long_a_compiler_may_be_silent(work, mode, compile_s, status):
    suite(work, f"[{mode}]", "[cold]", limits=f"{{launch: 60s, silence: 1s, compile: {compile_s}, grace: 300ms}}")
    stall = "3" if compile_s == "20s" else "30"
    done = work.run("modes.yaml", "a", "--stall", f"first_step:{stall}", more=("--launches", "1"))
    (record,) = work.records("a")
    assert record["status"] == status, done
    if status == "hung":
        word = "silence" if mode == "eager" else "compiling took longer than limits.compile"
        assert word in (record["reason"] if mode != "eager" else record["evidence"]["hang"]["limit"])
