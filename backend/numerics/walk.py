"""Orders a client's examples for a plan: epochs or a number of steps, in batches of the plan's size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from backend.numerics.philox import batches


@dataclass(frozen=True)
class Walk:
    """The batches of a plan: `steps` of `batch_size` examples, or those of `epochs` if `steps` is 0.

    The first `first_step` batches are skipped: somebody else took those steps.
    `webapp/static/src/core/numerics/batches.ts` is the twin; tests/contract/vectors/walks.json tests both.
    """

    seed: int
    epochs: int
    steps: int
    batch_size: int
    first_step: int = 0

    def length(self, examples: int) -> int:
        """Returns the steps of a client with `examples` examples."""
        return self.steps or max(0, self.epochs * -(-examples // self.batch_size) - self.first_step)

    def batches(self, examples: int) -> Iterator[NDArray[np.int64]]:
        """Yields the example numbers of each step; epochs are repeated until the steps are done."""
        all_epochs = (
            rows for epoch in count(1) for rows in batches(self.seed, epoch, examples, self.batch_size)
        )
        return islice(all_epochs, self.first_step, self.first_step + self.length(examples))
