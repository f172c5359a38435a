"""Plants the errors of mutants_*.py one by one, each in a copy of its source file, and expects the named test to fail.

Compiles the copy with the build's own command (a quick one: -O0, no cache), links the test program anew with that object before
the libraries, and runs it. The build itself is not touched. Exit codes: 0 every planted error was found, 1 one was not: a test is
missing, 2 the list or the build is wrong: a text that is not there any more, a mutant that does not compile, a test that fails
without any mutant."""

import argparse
import concurrent.futures
import dataclasses
import difflib
import fnmatch
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import mutants_statistics
import mutants_verdict
from mutant import Mutant

MUTANTS = mutants_statistics.MUTANTS + mutants_verdict.MUTANTS
FOUND, SURVIVED, BROKEN = 0, 1, 2
LIMIT_S = 60  # of one test program: one that hangs has noticed


class Broken(Exception):
    """The list or the build is wrong; nothing is said about the tests."""


@dataclasses.dataclass
class Build:
    source: pathlib.Path
    folder: pathlib.Path
    commands: dict[pathlib.Path, list[str]]  # to compile each file
    links: dict[str, list[str]]              # of each test program
    ninja: str

    def __init__(self, source: pathlib.Path, folder: pathlib.Path, programs: set[str], ninja: str = "ninja"):
        self.source, self.folder, self.ninja = source, folder, ninja
        entries = json.loads((folder / "compile_commands.json").read_text())
        self.commands = {pathlib.Path(entry["file"]): shlex.split(entry["command"]) for entry in entries}
        self.links = {program: self.link_of(program) for program in sorted(programs)}

    def link_of(self, program: str) -> list[str]:
        done = subprocess.run([self.ninja, "-C", str(self.folder), "-t", "commands", "-s", f"bin/{program}"], capture_output=True, text=True)
        words = shlex.split(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 and done.stdout.strip() else []
        words = [word for word in words if word not in (":", "&&")]
        if "-o" not in words or not (self.folder / "bin" / program).is_file():
            raise Broken(f"{program}: {done.stderr.strip() or 'not built'}")
        return words

    def compile(self, path: str, mutated: pathlib.Path | None, headers: pathlib.Path, out: pathlib.Path) -> None:
        """The file itself or the copy that stands for it; headers below `headers` go before those of the source tree."""
        original = self.source / path
        if original not in self.commands:
            raise Broken(f"{path}: not in compile_commands.json")
        words = [word for word in self.commands[original] if word != "-Werror" and not word.startswith("-O")]
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = str(mutated or original)
        words[words.index("-c"):words.index("-c")] = ["-O0", "-w"]
        place = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words.insert(place, f"-I{headers}")
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
        if done.returncode != 0:
            raise Broken(f"{path} does not compile:\n{done.stderr[-2000:]}")

    def link(self, program: str, objects: dict[str, pathlib.Path], out: pathlib.Path) -> None:
        """An object takes the place of the program's own one of that file, else it stands before the libraries."""
        words = list(self.links[program])
        words[words.index("-o") + 1] = str(out)
        for path, made in objects.items():
            own = [i for i, word in enumerate(words) if word.endswith(f"{program}.dir/{pathlib.Path(path).name}.o")]
            if path.startswith("tests/") and own:
                words[own[0]] = str(made)
            else:
                words.insert(words.index("-o"), str(made))
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"{program} does not link:\n{done.stderr[-2000:]}")


@dataclasses.dataclass
class Outcome:
    mutant: Mutant
    found: bool = False
    how: str = ""
    broken: str = ""


def planted(mutant: Mutant, source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The copy with the error in it, below `folder` at the path that includes give it."""
    text = (source / mutant.file).read_text()
    if (count := text.count(mutant.old)) != 1:
        raise Broken(f"{mutant.file}: the text of mutant \"{mutant.name}\" stands there {count} times, not once; "
                     f"mend it in tests/mutation:\n  {mutant.old}")
    out = folder / pathlib.Path(mutant.file).relative_to("harness")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text.replace(mutant.old, mutant.new))
    return out


def run_test(program: pathlib.Path, build: Build) -> tuple[bool, str]:
    """Whether it passed, and how it ended: the first test that failed."""
    environment = {**os.environ, "STEPGAUGE_SOURCE_DIR": str(build.source), "STEPGAUGE_BIN_DIR": str(build.folder / "bin")}
    try:
        done = subprocess.run([program, "--gtest_brief=1"], capture_output=True, text=True, timeout=LIMIT_S, cwd=program.parent,
                              env=environment)
    except subprocess.TimeoutExpired:
        return False, f"hangs for {LIMIT_S} s"
    failed = [line.split("]", 1)[1].split("(")[0].strip() for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
    if done.returncode == 0:
        return True, ""
    return False, failed[0] if failed else f"ends with {done.returncode}"


def judge(mutant: Mutant, build: Build) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="stepgauge-mutant-") as name:
        folder = pathlib.Path(name)
        try:
            copy = planted(mutant, build.source, folder / "harness")
            is_header = copy.suffix == ".hpp"
            objects = {path: folder / f"{i}.o" for i, path in enumerate(mutant.compile or (mutant.file,))}
            for path, out in objects.items():
                build.compile(path, None if is_header else copy, folder / "harness", out)
            program = folder / mutant.test
            build.link(mutant.test, objects, program)
        except Broken as error:
            return Outcome(mutant, broken=str(error))
        passed, how = run_test(program, build)
        return Outcome(mutant, not passed, how)


def check_without_mutants(mutants: list[Mutant], build: Build) -> None:
    """A test that fails anyway would find everything."""
    for test in sorted({mutant.test for mutant in mutants}):
        passed, how = run_test(build.folder / "bin" / test, build)
        if not passed:
            raise Broken(f"{test} fails without any mutant: {how}")


def chosen(options: argparse.Namespace) -> list[Mutant]:
    """By name, or the everyday ones, or all."""
    if options.only:
        mutants = [mutant for mutant in MUTANTS if fnmatch.fnmatchcase(mutant.name, options.only)]
        if not mutants:
            nearest = difflib.get_close_matches(options.only, [mutant.name for mutant in MUTANTS], 1, 0)
            raise Broken(f"no mutant is called \"{options.only}\"; the nearest is \"{nearest[0]}\"; --all --list names them all")
        return mutants
    return [mutant for mutant in MUTANTS if options.all or mutant.everyday]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--build", type=pathlib.Path, help="default: SOURCE/build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ninja", default="ninja", help="the program that the build was made with")
    parser.add_argument("--all", action="store_true", help="every mutant (default: the everyday ones)")
    parser.add_argument("--only", metavar="GLOB", help="mutants of this name")
    parser.add_argument("--list", action="store_true", help="what is planted, and what a user would lose")
    parser.add_argument("--programs", action="store_true", help="the test programs that find them, by name")
    return parser.parse_args(arguments)


def run(mutants: list[Mutant], build: Build, jobs: int) -> int:
    started, outcomes = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for outcome in pool.map(lambda mutant: judge(mutant, build), mutants):
            outcomes.append(outcome)
            state = "BROKEN" if outcome.broken else "found" if outcome.found else "SURVIVED"
            print(f"{state:8} {outcome.mutant.name}: {outcome.broken or outcome.how or outcome.mutant.loses}", flush=True)
    survived = [outcome for outcome in outcomes if not outcome.found and not outcome.broken]
    broken = [outcome for outcome in outcomes if outcome.broken]
    for outcome in survived:
        mutant = outcome.mutant
        print(f"\n{mutant.test} does not notice \"{mutant.name}\" in {mutant.file}; a user would lose: {mutant.loses}\n"
              f"  - {mutant.old}\n  + {mutant.new}")
    print(f"{len(outcomes)} planted errors: {len(outcomes) - len(survived) - len(broken)} found, {len(survived)} survived, "
          f"{len(broken)} could not be planted, in {time.monotonic() - started:.0f} s")
    return BROKEN if broken else SURVIVED if survived else FOUND


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        mutants = chosen(options)
        if options.list:
            for mutant in mutants:
                print(f"{mutant.name} ({mutant.file}, {mutant.test}): {mutant.loses}")
            return FOUND
        if options.programs:
            print(*sorted({mutant.test for mutant in mutants}))
            return FOUND
        build = Build(options.source, options.build or options.source / "build", {mutant.test for mutant in mutants},
                      options.ninja)
        check_without_mutants(mutants, build)
        return run(mutants, build, options.jobs)
    except (Broken, OSError) as error:
        print(f"mutation: {error}", file=sys.stderr)
        return BROKEN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
