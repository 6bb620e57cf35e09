"""A plan's way through a client's examples: epochs or a number of steps, in batches of the plan's size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from backend.numerics.philox import batches


@dataclass(frozen=True)
class Walk:
    """`steps` batches of `batch_size` examples, or as many as `epochs` make where `steps` is 0.

    `webapp/static/src/core/numerics/batches.ts` is the twin; tests/contract/vectors/walks.json binds both.
    """

    seed: int
    epochs: int
    steps: int
    batch_size: int

    def length(self, examples: int) -> int:
        """Steps of a client with `examples` examples."""
        return self.steps or self.epochs * -(-examples // self.batch_size)

    def batches(self, examples: int) -> Iterator[NDArray[np.int64]]:
        """The example numbers of each step; epochs follow one another until the steps are done."""
        endless = (
            rows for epoch in count(1) for rows in batches(self.seed, epoch, examples, self.batch_size)
        )
        return islice(endless, self.length(examples))
