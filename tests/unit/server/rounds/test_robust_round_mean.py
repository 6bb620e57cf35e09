from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.errors import AggregationError, StoreError
from backend.formats.task_file import RobustTable
from backend.formats.task_file.robust import BucketingStep, RuleName, StaticClipStep
from backend.numerics.vectors import Vector64
from backend.server.rounds.robust_round_mean import RobustRoundMean

SIZE = 50
UPDATES = np.random.default_rng(3).standard_normal((7, SIZE)).astype(np.float32)


def zeros(count: int) -> bytes:
    return bytes(count)


def mean_of(table: RobustTable, count: int, folder: Path | None = None) -> RobustRoundMean:
    """A mean with the first updates, of seven at most."""
    mean = RobustRoundMean(table, SIZE, len(UPDATES), folder, zeros)
    for update in UPDATES[:count]:
        mean.add(update, 100)
    return mean


def test_a_rule_follows_its_steps_with_the_number_of_attackers() -> None:
    table = RobustTable("trimmed-mean", 2, before=(StaticClipStep(5.0),))
    norms = np.linalg.norm(UPDATES, axis=1, keepdims=True)
    clipped = np.sort(UPDATES * np.minimum(1, 5.0 / norms), axis=0)
    np.testing.assert_allclose(mean_of(table, 7).mean(), clipped[2:-2].mean(axis=0), rtol=1e-5, atol=1e-6)


def test_updates_weigh_the_same_whatever_number_of_examples_they_claim() -> None:
    mean = RobustRoundMean(RobustTable("norm-clip", 0), SIZE, 2, None, zeros)
    mean.add(np.ones(SIZE, np.float32), 1)
    mean.add(-np.ones(SIZE, np.float32), 1_000_000)
    np.testing.assert_allclose(mean.mean(), 0.0, atol=1e-9)


def test_each_round_draws_secrets_of_its_own() -> None:
    drawn: list[int] = []

    def draw(count: int) -> bytes:
        drawn.append(count)
        return bytes([len(drawn)] * count)

    def aggregate() -> Vector64:
        mean = RobustRoundMean(RobustTable("krum", 1, before=(BucketingStep(2),)), SIZE, 9, None, draw)
        for update in [*UPDATES, UPDATES[0] + 1, UPDATES[1] + 1]:
            mean.add(update)
        return mean.mean()

    assert not np.array_equal(aggregate(), aggregate())
    assert drawn == [16, 16]


def test_too_few_updates_have_no_aggregate_and_the_reason_says_the_numbers() -> None:
    with pytest.raises(
        AggregationError, match=r"krum needs at least 7 .* attackers = 2, and 5 .* it bears 1"
    ):
        mean_of(RobustTable("krum", 2), 5).mean()


def test_refused_attackers_are_neither_missed_nor_borne_again() -> None:
    mean = mean_of(RobustTable("trimmed-mean", 3), 5)
    mean.refused = 2
    np.testing.assert_allclose(mean.mean(), np.sort(UPDATES[:5], axis=0)[1:-1].mean(axis=0), rtol=1e-5)


def test_too_few_updates_beside_refused_ones_have_a_reason_with_all_numbers() -> None:
    mean = mean_of(RobustTable("trimmed-mean", 3), 4)
    mean.refused = 1
    words = "needs at least 5 updates beside 1 refused as false to bear attackers = 3, and 4 were accepted"
    with pytest.raises(AggregationError, match=words):
        mean.mean()


def test_a_rule_without_a_number_of_its_own_asks_for_enough_updates_too() -> None:
    with pytest.raises(AggregationError, match="median needs at least 5 updates"):
        mean_of(RobustTable("median", 2), 4).mean()


def test_an_update_that_is_not_finite_has_no_aggregate() -> None:
    mean = mean_of(RobustTable("krum", 1), 6)
    mean.add(np.full(SIZE, np.nan, np.float32))
    with pytest.raises(AggregationError, match="Update 6 of 7 holds NaN or infinity"):
        mean.mean()


def test_an_update_that_the_disk_does_not_take_ends_the_round_not_its_client(tmp_path: Path) -> None:
    table = RobustTable("median", 0, memory=1)
    mean = RobustRoundMean(table, 300_000, 3, tmp_path / "missing", zeros)
    mean.add(np.ones(300_000, np.float32))
    mean.add(np.ones(300_000, np.float32))
    with pytest.raises(StoreError, match="do not fit the disk"):
        mean.mean()


def test_it_may_be_closed_before_and_after_its_result() -> None:
    mean = mean_of(RobustTable("median", 1), 3)
    mean.mean()
    mean.close()
    mean_of(RobustTable("median", 1), 3).close()


def test_a_rule_that_chooses_says_which_updates_it_left_out() -> None:
    lie = np.full(SIZE, 9.0, np.float32)
    rules: dict[RuleName, list[int]] = {"multi-krum": [2], "mda": [2], "trimmed-mean": [], "median": []}
    for rule, left_out in rules.items():
        mean = RobustRoundMean(RobustTable(rule, 1), SIZE, 8, None, zeros)
        for update in [*UPDATES[:2], lie, *UPDATES[2:]]:
            mean.add(update)
        mean.mean()
        assert (mean.rule, mean.left_out) == (rule, left_out)


def test_mixed_updates_are_left_out_where_no_part_of_them_is_in_the_aggregate() -> None:
    mean = RobustRoundMean(RobustTable("krum", 2, before=("nnm",)), SIZE, 7, None, zeros)
    for update in UPDATES:
        mean.add(update)
    mean.mean()
    assert mean.rule == "nnm + krum"
    assert len(mean.left_out) == 2  # Krum takes one mean of the five nearest.
