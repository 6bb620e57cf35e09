"""A task of noisy patterns, which is learned in a few rounds."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.btard.picture_task import CLASSES, Pictures, PictureTask


@cache
def small_task() -> PictureTask:
    """Returns 300 examples of ten patterns of 12 values, and 100 held-out ones."""
    random = np.random.default_rng(5)
    patterns = random.random((CLASSES, 12)).astype(np.float32)

    def drawn(count: int) -> Pictures:
        y = random.integers(0, CLASSES, count)
        return Pictures(patterns[y] + 0.1 * random.standard_normal((count, 12), np.float32), y)

    return PictureTask("patterns", drawn(300), drawn(100), 16)
