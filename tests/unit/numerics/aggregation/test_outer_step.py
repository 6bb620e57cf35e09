import numpy as np
import pytest

from backend.numerics.aggregation.outer_step import OUTER_KINDS, outer_step
from backend.numerics.aggregation.server_optimizers import SERVER_OPTIMIZERS, no_state
from backend.numerics.vectors import Vector

TRAINABLE = 90


def changes(seed: int, peers: int, values: int = 100) -> Vector:
    return np.random.default_rng(seed).normal(0, 0.01, (peers, values)).astype(np.float32)


@pytest.mark.parametrize("kind", OUTER_KINDS)
def test_the_mean_of_the_peers_ways_is_the_servers_step(kind: str) -> None:
    options = {} if kind == "fedavg" else {"momentum": 0.9}
    server = SERVER_OPTIMIZERS[kind](learning_rate=0.7, **options)
    weights = shared = changes(9, 1)[0]
    state, own = no_state(), [no_state()] * 5
    for number in range(4):
        rows = changes(number, 5)
        weights, state = server(weights, rows.astype(np.float64).mean(axis=0), state, TRAINABLE)
        made = [outer_step(kind, 0.7, 0.9, row, TRAINABLE, one) for row, one in zip(rows, own, strict=True)]
        own = [after for _, after in made]
        shared = shared + np.mean([way for way, _ in made], axis=0, dtype=np.float64).astype(np.float32)
        assert np.abs(shared - weights).max() < 1e-6


@pytest.mark.parametrize("kind", OUTER_KINDS)
def test_what_is_not_trained_goes_along_as_it_is(kind: str) -> None:
    change = changes(1, 1)[0]
    for state in (no_state(), *([] if kind == "fedavg" else [np.ones(TRAINABLE, np.float32)])):
        way, after = outer_step(kind, 0.1, 0.5, change, TRAINABLE, state)
        assert (way[TRAINABLE:] == change[TRAINABLE:]).all()
        assert (way[:TRAINABLE] != change[:TRAINABLE]).all()
        assert len(after) == (0 if kind == "fedavg" else TRAINABLE)


def test_an_optimizer_that_is_not_linear_is_refused() -> None:
    with pytest.raises(ValueError, match="fedadam; it is one of fedavg, fedavgm, nesterov"):
        outer_step("fedadam", 0.1, 0.0, changes(1, 1)[0], TRAINABLE, no_state())
