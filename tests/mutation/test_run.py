"""The runner on a project of two functions: what is noticed, what is not, and lists that are wrong."""

import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import run
from mutant import Mutant

FILES = {
    "harness/stats/limit.cpp": '#include "stats/limit.hpp"\nint limit() { return wide + 3; }\nint unused() { return 4; }\n',
    "harness/stats/limit.hpp": "#pragma once\ninline constexpr int wide = 5;\nint limit();\nint unused();\n",
    "tests/limit_test.cpp": '#include <cstdio>\n\n#include "stats/limit.hpp"\nint main() {\n'
                            '  if (limit() == 8) return 0;\n  std::puts("[  FAILED  ] Limit.IsEight (0 ms)");\n  return 1;\n}\n',
}
COMPILE = "{compiler} -I{source}/harness -O2 -Werror -o {out} -c {file}"
NINJA = """\
rule cxx
  command = $line
rule link
  command = : && {compiler} test.dir/limit_test.cpp.o -o $out liblimit.a && :
rule archive
  command = rm -f $out && ar qc $out $in
"""


class Runner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.source = pathlib.Path(cls.scratch.name)
        cls.folder = cls.source / "build"
        compiler = shutil.which("c++")
        objects = {"tests/limit_test.cpp": "test.dir/limit_test.cpp.o", "harness/stats/limit.cpp": "lib.dir/limit.cpp.o"}
        for name, text in FILES.items():
            (cls.source / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.source / name).write_text(text)
        ninja, entries = NINJA.format(compiler=compiler), []
        for name, out in objects.items():
            (cls.folder / out).parent.mkdir(parents=True)
            line = COMPILE.format(compiler=compiler, source=cls.source, out=out, file=cls.source / name)
            entries.append({"file": str(cls.source / name), "command": line, "directory": str(cls.folder)})
            ninja += f"build {out}: cxx {cls.source / name}\n  line = {line}\n"
        ninja += "build liblimit.a: archive lib.dir/limit.cpp.o\nbuild bin/test_limit: link test.dir/limit_test.cpp.o | liblimit.a\n"
        (cls.folder / "build.ninja").write_text(ninja)
        (cls.folder / "compile_commands.json").write_text(json.dumps(entries))
        subprocess.run(["ninja", "-C", cls.folder], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def plant(self, *changes, **more) -> tuple[int, str]:
        mutants = [Mutant(f"m{i}", *change, "test_limit", "a limit", **more) for i, change in enumerate(changes)]
        build = run.Build(self.source, self.folder, {"test_limit"})
        run.check_without_mutants(mutants, build)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = run.run(mutants, build, 2)
        return code, out.getvalue()

    def test_what_a_test_notices_is_found(self):
        code, text = self.plant(("harness/stats/limit.cpp", "wide + 3", "wide - 3"))
        self.assertEqual(code, run.FOUND, text)
        self.assertIn("found    m0: Limit.IsEight", text)
        self.assertEqual((self.source / "harness/stats/limit.cpp").read_text(), FILES["harness/stats/limit.cpp"])

    def test_what_no_test_notices_fails_the_check_with_what_is_lost(self):
        code, text = self.plant(("harness/stats/limit.cpp", "return 4;", "return 5;"), ("harness/stats/limit.cpp", "wide + 3", "wide + 4"))
        self.assertEqual(code, run.SURVIVED, text)
        self.assertIn("test_limit does not notice \"m0\" in harness/stats/limit.cpp; a user would lose: a limit", text)
        self.assertIn("2 planted errors: 1 found, 1 survived", text)

    def test_a_header_is_planted_into_the_files_that_include_it(self):
        code, text = self.plant(("harness/stats/limit.hpp", "wide = 5", "wide = 6"), compile=("harness/stats/limit.cpp",))
        self.assertEqual(code, run.FOUND, text)

    def test_a_text_that_is_gone_or_stands_twice_is_an_error(self):
        for old, count in (("wide * 3", 0), ("return", 2)):
            code, text = self.plant(("harness/stats/limit.cpp", old, "x"))
            self.assertEqual(code, run.BROKEN, text)
            self.assertIn(f"stands there {count} times, not once", text)

    def test_a_mutant_that_does_not_compile_is_an_error_not_a_find(self):
        code, text = self.plant(("harness/stats/limit.cpp", "wide + 3", "narrow"))
        self.assertEqual(code, run.BROKEN, text)
        self.assertIn("does not compile", text)

    def test_a_test_that_fails_anyway_finds_nothing(self):
        build = run.Build(self.source, self.folder, {"test_limit"})
        program = self.folder / "bin/test_limit"
        kept = program.read_bytes()
        try:
            program.write_text("#!/bin/sh\nexit 1\n")
            with self.assertRaisesRegex(run.Broken, "fails without any mutant"):
                run.check_without_mutants([Mutant("m", "f", "a", "b", "test_limit", "")], build)
        finally:
            program.write_bytes(kept)

    def test_a_program_that_is_not_built_is_an_error(self):
        with self.assertRaisesRegex(run.Broken, "test_nothing"):
            run.Build(self.source, self.folder, {"test_nothing"})

    def test_every_planted_error_is_in_the_sources_and_has_its_own_name(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        names = [mutant.name for mutant in run.MUTANTS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(sum(mutant.everyday for mutant in run.MUTANTS), 25)
        for mutant in run.MUTANTS:
            self.assertEqual((source / mutant.file).read_text().count(mutant.old), 1, mutant.name)


if __name__ == "__main__":
    unittest.main()
