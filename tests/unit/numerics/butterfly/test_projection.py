"""The random vectors that pieces are multiplied with."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics import philox
from backend.numerics.butterfly.lane_sums import LANES
from backend.numerics.butterfly.projection import product_and_length

COIN, RADIUS = 2**52 - 1, 1e3


@pytest.mark.parametrize("part", [0, 7, 8, 31])
@pytest.mark.parametrize("size", [5, LANES, 3 * LANES + 1])
def test_each_part_has_the_values_that_its_number_draws(part: int, size: int) -> None:
    rows = -(-size // LANES)
    drawn = 2.0 * philox.uniform(COIN, part, 0, LANES + rows).astype(np.float64) - 1.0
    whole = np.outer(drawn[LANES:], drawn[:LANES]).reshape(-1)[:size]
    piece = np.random.default_rng(part).standard_normal(size, np.float32)
    product, length = product_and_length(piece, np.zeros(size, np.float32), RADIUS, COIN, part)
    assert product == pytest.approx(float(whole @ piece), rel=1e-9, abs=1e-9)
    assert length == pytest.approx(float(np.linalg.norm(piece)), rel=1e-6)
