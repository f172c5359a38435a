"""An error that somebody could make, and the test that must notice it."""

import dataclasses

STATS, VERDICT, DETAIL, CONTRACT = "harness/stats/", "harness/verdict/", "harness/verdict/detail/", "harness/contract/"


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str   # from the source root; a header is planted by compiling `compile` against it
    old: str    # exact, once in the file
    new: str
    test: str   # the program that must fail
    loses: str  # what a user would lose if nobody noticed
    everyday: bool = False           # planted by every run of ctest; the others with --all
    compile: tuple[str, ...] = ()    # default: the file itself
