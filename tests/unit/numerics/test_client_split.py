"""Examples are dealt out once each, alike or by class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.client_split import dirichlet, iid


@given(n=st.integers(1, 200), clients=st.integers(1, 20), seed=st.integers(0, 99))
def test_equal_parts_hold_every_example_once(n: int, clients: int, seed: int) -> None:
    parts = iid(n, clients, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(alpha=st.sampled_from([0.3, 1.0, 100.0]), seed=st.integers(0, 99))
def test_dealt_out_classes_hold_every_example_once(alpha: float, seed: int) -> None:
    labels = np.random.default_rng(0).integers(0, 5, 400)
    parts = dirichlet(labels, 4, alpha, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(400))
    assert min(map(len, parts)) >= 10


def test_a_small_alpha_parts_the_classes_and_a_large_one_mixes_them() -> None:
    labels = np.repeat(np.arange(10), 100)

    def unevenness(alpha: float) -> float:
        parts = dirichlet(labels, 5, alpha, np.random.default_rng(1))
        shares = np.array([np.bincount(labels[part], minlength=10) / 100 for part in parts])
        return float(shares.std())

    assert unevenness(0.1) > 0.25 > 0.05 > unevenness(1000.0)


def test_parts_that_cannot_be_filled_are_refused() -> None:
    with pytest.raises(ValueError, match="raise alpha"):
        dirichlet(np.repeat([0, 1], 500), 40, 0.001, np.random.default_rng(0))
