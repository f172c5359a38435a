"""The jobs in ci/: they parse, call commands that exist, keep untrusted code and tokens apart, and the gate's script works from a
change to its comment."""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import FAILED, NOT_COMPARABLE, OK, REGRESSION, SMALL, SOURCE, STEPGAUGE, STUB, USAGE, Done, Workspace, stub, wait_for

CI = SOURCE / "ci"
SCRIPTS = [CI / "build_worker", CI / "gate", CI / "nightly", CI / "slurm/gate.sbatch"]
SLOW = "resnet18.image32.width8.b4/eager/fp32/cpu.ddp1"
GITHUB = sorted((CI / "github").glob("*.yml"))


def parsed(path):
    return pytest.importorskip("yaml").safe_load(path.read_text())


def github_steps(path):
    for job in parsed(path)["jobs"].values():
        yield from ((job, step) for step in job["steps"])


def shell_text() -> str:
    """Every line that a job gives to a shell."""
    text = "".join(path.read_text() for path in SCRIPTS)
    text += "".join(step.get("run", "") + "\n" for path in GITHUB for _, step in github_steps(path))
    for job in parsed(CI / "gitlab/stepgauge.gitlab-ci.yml").values():
        if isinstance(job, dict):
            text += "".join(line + "\n" for line in job.get("script", []))
    return text


def test_every_command_in_the_jobs_exists():
    found = 0
    for line in shell_text().splitlines():
        if line.lstrip().startswith(("#", "echo", "say", "die")) or "printf" in line:
            continue
        called = re.search(r'(?:"\$stepgauge"|build/bin/stepgauge) ((?:history )?[a-z]+)(.*)', line)
        if called:
            words, command = called.group(2), [str(STEPGAUGE), *called.group(1).split()]
        elif called := re.search(r"(ci/(?:gate|nightly|comment)) (.*)", line):
            words, command = called.group(2), [str(SOURCE / called.group(1))]
        else:
            continue
        found += 1
        known = subprocess.run([*command, "--help"], capture_output=True, text=True)
        assert known.returncode == 0, (line, known.stderr)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", words):
            assert re.search(rf"{option}\b", known.stdout), f"{command} has no {option}: {line}"
        for suite in re.findall(r"configs/[\w.]+", words):
            assert (SOURCE / suite).exists(), line
    assert found >= 10


def test_shell_scripts():
    for path in SCRIPTS:
        assert os.access(path, os.X_OK) or path.suffix == ".sbatch"
        subprocess.run(["bash", "-n", path], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "-x", *SCRIPTS], check=True, cwd=SOURCE)


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.name)
def test_github_jobs_keep_code_and_rights_apart(path):
    workflow = parsed(path)
    triggers = workflow[True]  # YAML takes "on" for a boolean
    assert "pull_request_target" not in json.dumps(triggers) and workflow["permissions"] == {"contents": "read"}
    for job, step in github_steps(path):
        writes = "write" in json.dumps(job.get("permissions", {}))
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", step["uses"]), "an action is not pinned to one version"
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False
            if writes:
                assert "base.sha" in step["with"]["ref"], "a job that may write checks out the change"
        assert "${{" not in step.get("run", ""), "what others wrote would be part of a command"
        assert "token" not in json.dumps(step).lower() or writes
        assert not (writes and "self-hosted" in json.dumps(job["runs-on"]))


def test_the_gitlab_job_that_runs_the_change_has_no_token():
    jobs = parsed(CI / "gitlab/stepgauge.gitlab-ci.yml")
    assert "environment" not in jobs["stepgauge-gate"] and jobs["stepgauge-comment"]["environment"]["name"] == "stepgauge-comment"
    assert jobs["stepgauge-gate"]["artifacts"]["when"] == "always", "a red gate would leave no report"
    assert jobs["stepgauge-comment"]["rules"][0]["when"] == "always", "a red gate would get no comment"


def test_nights_that_confirm_have_the_commits_of_the_nights_before():
    checkout, = (step for _, step in github_steps(CI / "github/nightly.yml") if step.get("uses", "").startswith("actions/checkout"))
    night = parsed(CI / "gitlab/stepgauge.gitlab-ci.yml")["stepgauge-nightly"]
    assert "--confirm" in (CI / "github/nightly.yml").read_text() and checkout["with"]["fetch-depth"] == 0
    assert any("--confirm" in line for line in night["script"]) and night["variables"]["GIT_DEPTH"] == "0"


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def change(tmp_path):
    """A repository with the scripts of ci/, whose build is a stub worker with the options that the file "worker" has."""
    repository = tmp_path / "change"
    shutil.copytree(CI, repository / "ci")
    (repository / "small.yaml").write_text(SMALL)
    (repository / ".gitignore").write_text("build/\nout*/\n")
    (repository / "worker").write_text("--noise 0.5% --seed-from-launch")
    build = repository / "build.sh"
    build.write_text('#!/bin/sh\nset -e\ntest ! -e broken\nmkdir -p build/bin\n'
                     f'cp {STEPGAUGE} build/bin/stepgauge\nprintf \'#!/bin/sh\\nexec {STUB} %s "$@"\\n\' "$(cat worker)" '
                     '> build/bin/stepgauge-worker\nchmod +x build/bin/stepgauge-worker\n')
    build.chmod(0o755)
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "base")
    git(repository, "checkout", "-qb", "change")
    return repository


def commit(repository, name: str, text: str) -> None:
    (repository / name).write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "change")


def ci_gate(repository, *more, out: str = "out") -> Done:
    return Done(subprocess.run(["ci/gate", "--base-ref", "main", "--suite", "small.yaml", "--out", out, "--build", "./build.sh", *more],
                               cwd=repository, capture_output=True, text=True, timeout=120,
                               env={**os.environ, "GITHUB_STEP_SUMMARY": str(repository / "summary.md"), "GITHUB_ACTIONS": "true"}))


FEW = ("--", "--pairs", "3,5", "--quiet")


def test_a_change_that_is_slower(change):
    commit(change, "worker", f"--noise 0.5% --seed-from-launch --seed 7 --slow-if {SLOW}*:8")
    done = ci_gate(change, *FEW)
    assert done.code == REGRESSION and "::error title=stepgauge gate::REGRESSED" in done.out, done
    comment = (change / "out/comment.md").read_text()
    assert SLOW in comment[:comment.index("<details>")] and (change / "summary.md").read_text() == comment
    seed = json.loads((change / "out/gate/gate.json").read_text())["seed"]
    assert re.search(rf"\ngit checkout [0-9a-f]{{40}} && ci/gate --base-ref [0-9a-f]{{40}} --suite small.yaml .* --seed {seed} *\n", comment)
    root = ElementTree.parse(change / "out/junit.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("1", "0")
    gate = json.loads((change / "out/gate/gate.json").read_text())
    assert gate["counts"]["regressed"] == 1
    trees = subprocess.run(["git", "worktree", "list"], cwd=change, capture_output=True, text=True).stdout.splitlines()
    assert len(trees) == 1, "the worktree of the base is left behind"
    again = ci_gate(change, *FEW)
    assert again.code == USAGE and "until it is green" in again.err, again


def test_a_change_that_is_not(change):
    commit(change, "README", "words")
    done = ci_gate(change, *FEW)
    assert done.code == OK and "Nothing is worse" in (change / "out/comment.md").read_text(), done


def test_changes_without_a_verdict(change):
    commit(change, "worker", "--mode die")
    commit(change, "small.yaml", SMALL.replace("llama.tiny", "lama.tiny"))
    refused = ci_gate(change, *FEW)
    assert refused.code == USAGE and (change / "out/comment.md").read_text().startswith("<!-- stepgauge:small -->\n## stepgauge gate: no verdict")
    commit(change, "broken", "")
    broken = ci_gate(change, *FEW, out="out2")
    assert broken.code == FAILED and "does not build" in broken.err, broken
    for arguments, words in ((("--base-ref", "nowhere"), "fetch-depth"), (("--sweet", "x"), "unknown argument"), (("--budget",), "needs a value")):
        done = ci_gate(change, *arguments, out="out3")
        assert done.code == USAGE and words in done.err, done


def test_the_batch_script_ends_in_order(change):
    commit(change, "worker", "--mode sleep --sleep-s 0.5")
    process = subprocess.Popen(["bash", "ci/slurm/gate.sbatch", "main", "--suite", "small.yaml", "--build", "./build.sh", *FEW], cwd=change,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, "SLURM_SUBMIT_DIR": str(change), "SLURM_JOB_ID": "77"})
    results = change / "gate-results-77"
    wait_for(lambda: any(path.stat().st_size for path in results.glob("gate/*/records.jsonl")), "the first launch", 30)
    process.send_signal(signal.SIGTERM)  # as Slurm does before the time limit
    out, _ = process.communicate(timeout=30)
    assert process.returncode == FAILED, out
    comment = (results / "comment.md").read_text()
    assert "INTERRUPTED" in comment and "--resume" not in comment, "the worktree of the base is gone"
    assert Workspace(change).left_running() == []


def test_a_night(change):
    def night(out: str) -> Done:
        return Done(subprocess.run(["ci/nightly", "--suite", "small.yaml", "--out", out, "--history", "out-history", "--build", "./build.sh",
                                    "--", "--quiet"], cwd=change, capture_output=True, text=True, timeout=120,
                                   env={**os.environ, "GITHUB_STEP_SUMMARY": str(change / "summary.md")}))

    done = night("out-n")
    assert done.code == NOT_COMPARABLE and (change / "out-n/history.json").exists(), done
    assert "## stepgauge history" in (change / "summary.md").read_text() and list((change / "out-history").glob("*/small.jsonl"))
    (change / "worker").write_text("--mode die")
    failed = night("out-m")
    assert failed.code == FAILED and "not added" in (change / "out-m/history.md").read_text(), failed


def nightly(repository, out: str, *more: str) -> Done:
    return Done(subprocess.run(["ci/nightly", "--suite", "small.yaml", "--out", out, "--history", "out-history", "--build", "./build.sh", *more,
                                "--", "--quiet"], cwd=repository, capture_output=True, text=True, timeout=240))


def with_a_loss(line: dict, commits: list[str]) -> str:
    """Forty nights before this one; the throughput of the first 35 of them, of the first commit, is 5 % higher."""
    out = ""
    for night in range(40):
        copy = json.loads(json.dumps(line))
        tip = copy["tip"] | {"run": f"20250101T{night:06}Z-{night:08x}", "created_at": f"2025-{1 + night // 28:02}-{1 + night % 28:02}T02:00:00Z",
                             "commit": commits[night >= 35]}
        for cell in tip["cells"]:
            values = cell["metrics"]["throughput"]
            values["values"] = [value * (1.05 if night < 35 else 1) * (1 + 0.001 * (night % 5)) for value in values["values"]]
        out += json.dumps(copy | {"tip": tip}) + "\n"
    return out


@pytest.mark.parametrize("worker, code, word", [("", OK, "not confirmed"), ("--slow-if *:6", REGRESSION, "CONFIRMED")])
def test_alarms_of_a_night_are_measured(change, worker, code, word):
    good = subprocess.run(["git", "rev-parse", "HEAD"], cwd=change, capture_output=True, text=True, check=True).stdout.strip()
    assert nightly(change, "out-a").code == NOT_COMPARABLE
    (path,) = (change / "out-history").glob("*/small.jsonl")
    first = json.loads(path.read_text())
    commit(change, "worker", f"--noise 0.5% --seed-from-launch --seed 9 {worker}")
    bad = subprocess.run(["git", "rev-parse", "HEAD"], cwd=change, capture_output=True, text=True, check=True).stdout.strip()
    path.write_text(with_a_loss(first, [good, bad]))
    build = 'sh -c "cd {source} && ./build.sh && cp -r build {out}"'
    done = nightly(change, "out-b", "--confirm", "--confirm-build", build)
    assert done.code == code and "confirmation of alarms:" in done.err, done
    page = (change / "out-b/history.md").read_text()
    assert "## Alarms, measured" in page and word in page and "confirmed on 20" in page, page
    assert json.loads((change / "out-b/history.json").read_text())["exit_code"] == code
    kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert kinds.count("confirmation") == 4 and kinds.count("night") == 41
    trees = subprocess.run(["git", "worktree", "list"], cwd=change, capture_output=True, text=True).stdout.splitlines()
    assert len(trees) == 1, "the work tree of a commit is left behind"


class Forge(http.server.BaseHTTPRequestHandler):
    """As much of the API of GitHub and of GitLab as a comment takes."""

    def log_message(self, *_):
        pass

    def handle_any(self):
        forge, length = self.server, int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length))["body"] if length else None
        forge.seen.append((self.command, self.path, self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN")))
        if forge.status:
            return self.answer(forge.status, {"message": "no"})
        if self.path == "/user":
            return self.answer(200, {"username": "stepgauge-bot"})
        if self.command == "GET":
            page = int(re.search(r"page=(\d+)$", self.path).group(1))
            return self.answer(200, forge.comments[100 * (page - 1):100 * page])
        if self.command == "POST":
            login = "github-actions[bot]" if "/repos/" in self.path else "stepgauge-bot"
            forge.comments.append(forge.comment(login, body))
            return self.answer(201, forge.comments[-1])
        number = int(self.path.rpartition("/")[2])
        forge.comments[number].update(body=body)
        return self.answer(200, forge.comments[number])

    do_GET = do_POST = do_PATCH = do_PUT = handle_any

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://elsewhere.example/")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def forge():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    server.seen, server.comments, server.status = [], [], 0
    server.comment = lambda login, body: {"id": len(server.comments), "body": body, "user": {"login": login}, "author": {"username": login},
                                          "html_url": "https://forge.example/c"}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def comment(work: Workspace, forge, text: str, platform: str = "github") -> Done:
    work.write("comment.md", text)
    url = f"http://127.0.0.1:{forge.server_address[1]}"
    env = {"github": {"GITHUB_TOKEN": "s3cret", "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": url},
           "gitlab": {"GITLAB_TOKEN": "s3cret", "CI_API_V4_URL": url, "CI_PROJECT_ID": "7"}, "none": {}}[platform]
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "GITLAB_", "CI_"))}
    done = Done(subprocess.run(["python3", CI / "comment", "comment.md", "--number", "12"], cwd=work.path, capture_output=True, text=True,
                               env={**clean, **env}, timeout=60))
    assert "s3cret" not in done.out + done.err, "the token is in the log"
    return done


@pytest.mark.parametrize("platform", ["github", "gitlab"])
def test_one_comment_is_posted_and_then_updated(work, forge, platform):
    for number in range(130):  # others', one of them with the marker: it is not ours to change
        forge.comments.append(forge.comment("mallory", "<!-- stepgauge:small -->\nmine" if number == 3 else "words"))
    first = comment(work, forge, "<!-- stepgauge:small -->\nfirst", platform)
    assert first.code == OK and "posted" in first.out and len(forge.comments) == 131, first
    second = comment(work, forge, "<!-- stepgauge:small -->\nsecond", platform)
    assert second.code == OK and "updated" in second.out and len(forge.comments) == 131, second
    assert forge.comments[130]["body"].endswith("second") and forge.comments[3]["body"].endswith("mine")
    assert comment(work, forge, "<!-- stepgauge:other -->\nthird", platform).code == OK and len(forge.comments) == 132
    assert all(token in ("Bearer s3cret", "s3cret") for _, _, token in forge.seen)


def test_a_token_that_may_not_write(work, forge):
    for forge.status in (401, 403, 404):
        done = comment(work, forge, "<!-- stepgauge:small -->\n")
        assert done.code == OK and "summary has the report" in done.out, done
    assert comment(work, forge, "<!-- stepgauge:small -->\n", "none").code == OK
    for forge.status in (302, 500):
        assert comment(work, forge, "<!-- stepgauge:small -->\n").code == 1


def test_what_is_no_report_is_not_posted(work, forge):
    for text in ("", "words", "<!-- stepgauge:a b -->\n", "<!-- stepgauge:s -->\n" + "x" * 65536):
        assert comment(work, forge, text).code == USAGE
    assert forge.seen == []


def test_the_report_is_what_the_comment_takes(work, forge):
    work("gate", "small.yaml", "--quiet", "--out", "g", "--pairs", "3,5", "--worker", stub(), "--base", "self", "--head", "set:batch=4")
    assert work("report", "g", "--out", "r.md").code == OK
    assert comment(work, forge, (work.path / "r.md").read_text()).code == OK and len(forge.comments) == 1
