"""What a person can get wrong in a suite or on the command line: exit code 2, the place, and the nearest valid name."""

import os

import pytest
from conftest import FAILED, OK, SMALL, USAGE, stub

MISTAKES = [  # what replaces what, where it is seen, and words of the message
    ("batch:", "bacth:", "7:3", ['"bacth"', '"batch"']),
    ("stepgauge: 1\n", "stepgauge: 1\nlanches: 3\n", "2:1", ['"lanches"', '"launches"']),
    ("llama.tiny,", "llama.tyny,", "6:14", ['"llama.tyny"', '"llama.tiny"']),
    ("width: 8", "widht: 8", "6:43", ['"widht"', '"width"']),
    ("device: cpu", "device: cpu, precision: fp23", "4:36", ['"fp23"', '"fp32"']),
    ("device: cpu", "device: cpu, compile: eagre", "4:34", ['"eagre"', '"eager"']),
    ("launches: 2", "launches: no", "3:11", ["integer", "no"]),
    ("launches: 2", "launches: 0", "3:11", ["1 to", "0"]),
    ("[2, 4]", "[1e3]", "7:11", ["integer", "1e3"]),
    ("[2, 4]", "[]", "7:10", ["empty"]),
    ("[2, 4]", "two", "7:10", ["axes.batch", "two"]),
    ("name: small", "name: small\nname: x", "3:1", ["twice", "line 2"]),
    ("  batch", "\tbatch", "7:1", ["tab"]),
    ("measure: {steps: 20}", "exclude: [{batch: 77}]", "8:19", ["no cell", "77"]),
    ("measure: {steps: 20}", "measure: {steps: 20", "", []),
    ("device: cpu", "device: cpu, env: {LD_PRELOAD: x}", "4:31", ["LD_PRELOAD"]),
    ("stepgauge: 1", "stepgauge: 2", "1:12", ["newer"]),
    ("stepgauge: 1\n", "", "1:1", ["stepgauge"]),
    ("launches: 2", "<<: {launches: 2}", "3:1", ["merge"]),
]


@pytest.mark.parametrize("old, new, place, words", MISTAKES, ids=[new.strip()[:25] for _, new, _, _ in MISTAKES])
def test_mistakes_in_a_suite(work, old, new, place, words):
    assert old in SMALL
    work.write("bad.yaml", SMALL.replace(old, new, 1))
    for arguments in (("list", "bad.yaml"), ("run", "bad.yaml", "--out", "a", "--worker", stub())):
        done = work(*arguments)
        assert done.code == USAGE and done.out == "" and f"bad.yaml:{place}" in done.err, done
        assert all(word in done.err for word in words) and done.err.count("\n") <= 3, done
        assert not (work.path / "a").exists()


def test_an_anchor_that_explodes(work):
    lines = ["stepgauge: 1", "name: x", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    work.write("bomb.yaml", "\n".join(lines) + "\n")
    done = work("list", "bomb.yaml", timeout=10)
    assert done.code == USAGE and "bomb.yaml:" in done.err and len(done.err) < 2000, done


def test_a_suite_that_is_no_file(work):
    (work.path / "folder").mkdir()
    os.mkfifo(work.path / "fifo.yaml")
    with open(work.path / "big.yaml", "wb") as big:
        big.truncate(100 << 20)
    work.write("empty.yaml", "")
    work.write("spaces.yaml", "  \n# nothing\n")
    (work.path / "bytes.yaml").write_bytes(b"stepgauge: 1\nname: \xff\xfe\x00\n")
    for name, word in [("folder", "folder"), ("fifo.yaml", "special"), ("big.yaml", "bytes"), ("empty.yaml", "empty"),
                       ("spaces.yaml", "spaces.yaml"), ("bytes.yaml", "bytes.yaml"), ("nowhere.yaml", "No such file"), ("/dev/zero", "special")]:
        for arguments in (("list", name), ("run", name, "--out", "a", "--worker", stub())):
            done = work(*arguments, timeout=10)
            assert done.code == USAGE and name in done.err and word in done.err and done.out == "", (name, done)
    assert not (work.path / "a").exists()


def test_a_json_suite_has_places_too(work):
    work.write("bad.json", '{"stepgauge": 1, "name": "x",\n "axes": {"workload": ["llama.tiny"], "bacth": [1]}}')
    done = work("list", "bad.json")
    assert done.code == USAGE and "bad.json:2:" in done.err and '"batch"' in done.err, done


def test_a_folder_that_cannot_be_made(work):
    work.write("file", "x")
    done = work.run("small.yaml", "file/run")
    assert done.code in (USAGE, FAILED) and "file/run" in done.err and "Not a directory" in done.err, done
    saved = work.run("small.yaml", "a")
    assert saved.code == OK
    done = work("baseline", "save", "a", "--baselines", "file/bl")
    assert done.code in (USAGE, FAILED) and "file/bl" in done.err, done
    if os.getuid() != 0:  # root may write anywhere
        (work.path / "locked").mkdir(mode=0o500)
        done = work.run("small.yaml", "locked/run")
        assert done.code in (USAGE, FAILED) and "Permission denied" in done.err, done


def test_a_run_folder_is_not_written_over(work):
    assert work.run("small.yaml", "a").code == OK

    def content():  # the lock file holds whoever locked the folder last
        return {path: path.read_bytes() for path in (work.path / "a").rglob("*") if path.is_file() and path.name != "lock"}

    before = content()
    done = work.run("small.yaml", "a")
    assert done.code == USAGE and "--resume" in done.err, done
    assert content() == before


@pytest.mark.parametrize("arguments, words", [
    ((), ["subcommand"]),
    (("frobnicate",), ["frobnicate"]),
    (("list",), ["suite"]),
    (("list", "small.yaml", "--frobnicate"), ["--frobnicate"]),
    (("list", "small.yaml", "--launches", "0"), ["--launches"]),
    (("list", "small.yaml", "--launches", "two"), ["--launches"]),
    (("list", "small.yaml", "--worker", ""), ["--worker"]),
    (("list", "small.yaml", "--worker", "nosuch=x"), ["nosuch"]),
    (("list", "small.yaml", "--worker", '"unclosed'), ["--worker", "unclosed"]),
    (("run", "small.yaml", "--out", "a", "--resume", "b"), ["--out", "--resume"]),
    (("schema", "nosuch"), ["nosuch", "record"]),
    (("baseline",), ["subcommand"]),
    (("baseline", "save"), ["run"]),
    (("compare", "a"), ["head"]),
    (("report", "nowhere"), ["nowhere"]),
])
def test_the_command_line(work, arguments, words):
    done = work(*arguments)
    assert done.code != OK and done.out == "" and all(word in done.err for word in words), done
    if arguments != ("report", "nowhere"):
        assert done.code == USAGE, done


@pytest.mark.parametrize("out", ["file", "file/inside", "/proc/1/here"])
@pytest.mark.parametrize("command", [
    ("run", "small.yaml", "--out"),
    ("calibrate", "small.yaml", "--launches", "5", "--out"),
    ("gate", "small.yaml", "--base", "self", "--head", "self", "--out"),
    ("bisect", "small.yaml", "--cell", "llama.tiny.b2/*", "--metric", "throughput", "--good", "self", "--bad", "set:compile=torchscript",
     "--out"),
])
def test_a_folder_that_cannot_be_made_is_a_mistake_of_the_command_line(work, command, out):
    work.write("file", "in the way")
    done = work(*command, out, "--worker", stub(), "--quiet")
    assert done.code == USAGE and f"{out}: " in done.err and "choose another folder" in done.err, done


def test_parts_are_not_merged_into_a_file(work):
    assert work.run("small.yaml", "a").code == OK
    done = work("merge", "small.yaml/all", "a")
    assert done.code == USAGE and "small.yaml/all: cannot make the folder" in done.err, done


@pytest.mark.parametrize("command", [
    ("report", "a", "--out", "small.yaml/table.md"),
    ("report", "a", "--article", "A1", "--out", "nowhere/table.md"),
    ("baseline", "save", "a", "--baselines", "small.yaml"),
])
def test_a_file_that_cannot_be_written_is_a_mistake_of_the_command_line(work, command):
    assert work.run("small.yaml", "a").code == OK
    done = work(*command)
    assert done.code == USAGE and "choose another" in done.err, done
