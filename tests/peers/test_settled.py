"""The peer must end its warm-up by the same rule as the built-in worker, or the two are not measured alike."""

import math
import random
import subprocess
import sys

import pytest
from conftest import CHECK, SOURCE

sys.path.insert(0, str(SOURCE / "scripts" / "peers"))
from settled import settled  # noqa: E402


def series(random_source: random.Random) -> tuple[int, list[float]]:
    block = random_source.randint(1, 8)
    level, noise = 10 ** random_source.uniform(-1, 3), random_source.choice([0.0, 0.001, 0.01, 0.1])
    drift, stray = random_source.choice([0.0, 0.005, 0.05]), random_source.random() < 0.2
    count = random_source.randint(0, 4 * block + 3)
    times = [level * (1 + drift * math.exp(-i / block) + random_source.gauss(0, noise)) for i in range(count)]
    if stray and times:
        times[random_source.randrange(count)] *= random_source.choice([1.4, 1.6, 5.0])
    return block, [abs(time) for time in times]


def test_same_answers_as_the_cpp_rule():
    source = random.Random(20)
    cases = [series(source) for _ in range(5000)]
    lines = "".join(f"{block} {' '.join(map(repr, times))}\n" for block, times in cases)
    answers = subprocess.run([CHECK, "settled"], input=lines, capture_output=True, text=True, check=True).stdout.split()
    mine = ["1" if settled(times, block) else "0" for block, times in cases]
    assert answers == mine
    assert 500 < mine.count("1") < 4500  # both answers are common, so that the comparison means something


def test_one_slow_step_keeps_the_warm_up_going():
    assert settled([10.0] * 9, 3)
    assert not settled([10.0] * 8 + [16.0], 3)
    assert not settled([10.0] * 8, 3)


@pytest.mark.parametrize("times, block", [([1.0], 0), ([-1.0], 1), ([math.nan], 1), ([math.inf], 1)])
def test_refuses_what_is_no_time(times, block):
    with pytest.raises(ValueError):
        settled(times, block)
