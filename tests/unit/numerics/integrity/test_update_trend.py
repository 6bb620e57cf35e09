"""Minorities among updates: in one round, and over several."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.integrity.integrity_score import SUSPECT, is_pushing, trend_part
from backend.numerics.integrity.update_clusters import MIN_UPDATES, update_clusters
from backend.numerics.integrity.update_trend import (
    FEWEST_ROUNDS,
    ROUNDS,
    WIDTH,
    RoundMinority,
    UpdateTrend,
    round_minority,
    update_trend,
)
from backend.numerics.vectors import Vector64

ATTACKED = np.random.default_rng(100).normal(size=WIDTH)


def sketches(seed: int, attackers: int = 0, honest: int = 7) -> Vector64:
    """Sketches of a round: honest ones around one direction of the round, others around ATTACKED."""
    random = np.random.default_rng(seed)
    way = random.normal(size=WIDTH)
    rows = [way + 0.7 * random.normal(size=WIDTH) for _ in range(honest)]
    rows += [ATTACKED + 0.2 * random.normal(size=WIDTH) for _ in range(attackers)]
    return np.array(rows)


def clustered(seed: int, attackers: int = 0) -> RoundMinority:
    found = round_minority(sketches(seed, attackers))
    assert found is not None
    return found


def trend(*attackers: int) -> UpdateTrend:
    found = update_trend([clustered(seed, count) for seed, count in enumerate(attackers)])
    assert found is not None
    return found


def test_the_minority_is_found_whatever_its_length() -> None:
    updates = sketches(1, 3)
    updates[8:] *= 1e-6
    found = update_clusters(updates)
    assert found.members == (7, 8, 9)
    assert found.separation > 0.9


def test_half_of_the_updates_are_no_minority() -> None:
    found = update_clusters(sketches(1, 7, honest=7))
    assert len(found.members) < 7


def test_equal_and_empty_updates_have_none() -> None:
    for updates in (np.zeros((6, 5), np.float32), np.ones((6, 5), np.float32)):
        assert update_clusters(updates).members == ()


def test_too_few_and_broken_updates() -> None:
    assert round_minority(sketches(1, honest=MIN_UPDATES - 1)) is None
    with pytest.raises(ValueError, match="not finite"):
        update_clusters(np.full((6, 5), np.nan, np.float32))


def test_a_minority_that_pushes_in_one_direction_round_after_round_is_found() -> None:
    found = trend(3, 3, 3, 3)
    assert (found.rounds, found.updates, found.members) == (4, 40, 12)
    assert is_pushing(found)
    part = trend_part(found)
    assert part.score is not None
    assert 0.35 < part.score < SUSPECT
    assert "In the last 4 rounds, 12 of 40 updates were in a minority" in part.reason


def test_honest_rounds_and_a_single_attack_are_not() -> None:
    for counts in ((0, 0, 0, 0), (0, 0, 3, 0)):
        assert not is_pushing(trend(*counts))
        assert "This is usual." in trend_part(trend(*counts)).reason


def test_minorities_that_point_elsewhere_each_time_are_not() -> None:
    rounds = []
    for seed in range(5):
        ways = np.random.default_rng(seed).normal(size=(2, WIDTH))
        noise = 0.2 * np.random.default_rng(seed + 50).normal(size=(10, WIDTH))
        rounds.append(round_minority(np.repeat(ways, (7, 3), axis=0) + noise))
    found = update_trend([one for one in rounds if one is not None])
    assert found is not None
    assert found.separation > 0.8
    assert not is_pushing(found)


def test_only_the_newest_rounds_count_and_a_few_are_needed() -> None:
    assert update_trend([clustered(seed, 3) for seed in range(FEWEST_ROUNDS - 1)]) is None
    assert not is_pushing(trend(*[3] * 5, *[0] * ROUNDS))
