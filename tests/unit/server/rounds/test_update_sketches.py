"""Sketches of a round's updates: bounded, freed when it ends, and only of updates that count."""

from __future__ import annotations

import numpy as np

from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.numerics.vectors import Vector
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.server.rounds.update_sketches import MOST_UPDATES, RoundSketches, UpdateSketching
from backend.wire.messages import Offer

SIZE = 600


def sketching() -> UpdateSketching:
    return UpdateSketching(SIZE, lambda count: bytes(range(count)))


def updates(honest: int, attackers: int, seed: int = 0) -> list[Vector]:
    random = np.random.default_rng(seed)
    ways = random.normal(size=(2, SIZE))
    rows = np.repeat(ways, (honest, attackers), axis=0) + 0.3 * random.normal(size=(honest + attackers, SIZE))
    return list(rows.astype(np.float32))


def test_a_minority_is_found_by_sketches_and_once() -> None:
    sketches = RoundSketches(sketching())
    for update in updates(7, 3):
        sketches.add(update)
    found = sketches.clustered()
    assert found is not None
    assert (found.updates, found.members) == (10, 3)
    assert found.separation > 0.8
    assert sketches.clustered() is None


def test_directions_of_rounds_can_be_compared() -> None:
    shared, found = sketching(), []
    for _ in range(2):
        sketches = RoundSketches(shared)
        for update in updates(7, 3):
            sketches.add(update)
        found.append(sketches.clustered())
    assert found[0] is not None
    assert found[1] is not None
    np.testing.assert_array_equal(found[0].direction, found[1].direction)


def test_the_state_after_the_trained_values_does_not_count() -> None:
    shared = sketching()
    update = updates(1, 0)[0]
    longer = np.concatenate([update, np.full(50, 1e6, np.float32)])
    np.testing.assert_array_equal(shared.sketch(update), shared.sketch(longer))


def test_so_many_updates_are_kept_and_those_at_the_end_are_among_them() -> None:
    sketches = RoundSketches(sketching())
    for update in updates(MOST_UPDATES, MOST_UPDATES // 2):
        sketches.add(update)
    found = sketches.clustered()
    assert found is not None
    assert found.updates == MOST_UPDATES
    assert MOST_UPDATES / 5 < found.members < MOST_UPDATES / 2


def test_an_update_in_quarantine_is_not_sketched() -> None:
    made = RoundAccumulator(WeightedMean(SIZE), sketches=RoundSketches(sketching()))
    offer = Offer(round=1, version=0, examples=1, steps=1, loss=0.0, sums=[], size=4)
    made.factors = {f"{number}": float(number < 7) for number in range(10)}
    for number, update in enumerate(updates(7, 3)):
        made.add(update, offer, f"{number}")
    found = made.clustered()
    assert found is not None
    assert found.updates == 7
    assert RoundAccumulator(WeightedMean(1)).clustered() is None
