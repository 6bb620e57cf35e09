"""The search finds the set that trying all subsets finds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from backend.numerics.aggregators.least_diameter import MOST_F, mda, nearest_set
from backend.numerics.aggregators.update_set import UpdateSet


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_first_of_the_sets_of_least_diameter(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 12))
    f = int(random.integers(0, (count - 1) // 2 + 1))
    points = random.integers(0, 3, (count, 2)) if seed % 3 == 0 else random.standard_normal((count, 4))
    squared = ((points[:, None] - points) ** 2).sum(axis=2).astype(np.float64)
    subsets = list(combinations(range(count), count - f))
    diameters = [max(squared[i, j] for i in subset for j in subset) for subset in subsets]
    assert nearest_set(squared, f) == list(subsets[int(np.argmin(diameters))])


def test_the_most_that_is_promised_is_searched_in_time() -> None:
    random = np.random.default_rng(3)
    updates = random.standard_normal((2 * MOST_F + 1, 50))
    updates[:MOST_F] += 0.7
    kept = nearest_set(UpdateSet(updates).distances.squared, MOST_F)
    assert len(kept) == MOST_F + 1
    with pytest.raises(ValueError, match="bears f = 25 at no number"):
        mda(MOST_F + 1)(np.zeros((60, 2)))
