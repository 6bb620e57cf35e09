"""Memory that a peer freed serves its next round."""

from __future__ import annotations

import subprocess
import sys

import pytest

TIMES, VECTORS, PAGES = 10, 16, 256
# Each round makes some vectors of 1 MiB, and frees them.
ROUNDS = f"""
import resource, sys
import numpy as np
from backend.peer.training.freed_memory import keep_freed_memory

def run():
    [np.full({PAGES} * resource.getpagesize(), 1, np.uint8) for _ in range({VECTORS})]

if sys.argv[1] == "keeps":
    keep_freed_memory()
run()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({TIMES}):
    run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def fresh_pages(how: str) -> int:
    """Returns how many pages the rounds after the first one took from the system."""
    ran = subprocess.run([sys.executable, "-c", ROUNDS, how], capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Only glibc returns what is freed.")
def test_vectors_of_the_next_round_take_no_fresh_pages() -> None:
    assert fresh_pages("returns") > TIMES * VECTORS * PAGES / 2
    assert fresh_pages("keeps") < VECTORS * PAGES
