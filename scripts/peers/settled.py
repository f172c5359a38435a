"""The worker's end of warm-up: harness/contract/settled.hpp, operation by operation (tests/peers compares the two)."""

import math
from collections.abc import Sequence

BLOCKS = 3
MAD_TO_SD = 1.4826
MEAN_TO_MEDIAN_ERROR = 1.2533


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 == 1 else 0.5 * (ordered[half - 1] + ordered[half])


def settled(warmup_ms: Sequence[float], block: int, tolerance: float = 0.02) -> bool:
    if block <= 0 or any(not math.isfinite(value) or value < 0 for value in (*warmup_ms, tolerance)):
        raise ValueError("settled: block, times and tolerance must be finite and not negative")
    if len(warmup_ms) // BLOCKS < block:
        return False
    recent = warmup_ms[-BLOCKS * block :]
    centre = median(recent)
    medians = [median(recent[start : start + block]) for start in range(0, len(recent), block)]
    about_all = [abs(value - centre) for value in recent]
    about_block = [abs(value - medians[index // block]) for index, value in enumerate(recent)]

    stray = max(0.5 * centre, 4.0 * MAD_TO_SD * median(about_all))
    if max(recent) > centre + stray:
        return False
    low, high = min(medians), max(medians)
    standard_error = MEAN_TO_MEDIAN_ERROR * MAD_TO_SD * median(about_block) / math.sqrt(float(block))
    return high - low <= max(tolerance * low, 2.0 * standard_error)
