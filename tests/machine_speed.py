"""Speed of this machine, for tests with limits of time."""

import time
from functools import cache

LOOPS = 200_000
USUAL = 0.02  # [s] of the loop on an ordinary processor of 2020


@cache
def slowness() -> float:
    """How much longer Python takes here than on an ordinary machine: at least 1."""
    times = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for k in range(LOOPS):
            total += k
        times.append(time.process_time() - began)
    return max(1.0, min(times) / USUAL)
