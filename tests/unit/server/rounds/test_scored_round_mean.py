"""The aggregate of a round whose clients are judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from backend.errors import AggregationError, StoreError
from backend.formats.task_file import RobustTable
from backend.numerics.reputation.suspicion import SuspicionRules
from backend.server.rounds.scored_round_mean import ScoredRoundMean, ScoredUpdate, UpdateScoring

SIZE = 200
random = np.random.default_rng(3)
COMMON = random.standard_normal(SIZE)
UPDATES = (COMMON + random.standard_normal((7, SIZE))).astype(np.float32)


def scoring() -> UpdateScoring:
    return UpdateScoring(SuspicionRules(10.0, 10), lambda count: bytes([7] * count))


def mean_of(
    factors: Mapping[int, float] | None = None,
    table: RobustTable | None = None,
    scored: UpdateScoring | None = None,
    version: int = 0,
    updates: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = UPDATES,
) -> ScoredRoundMean:
    """A mean of updates that weigh 1, 2, 3 and so on."""
    made = ScoredRoundMean(table, SIZE, len(updates), None, scored or scoring())
    for number, update in enumerate(updates):
        factor = (factors or {}).get(number, 1.0)
        made.add_scored(update, number + 1, ScoredUpdate(f"c{number}", version, 10, factor))
    return made


def test_without_a_rule_updates_weigh_by_examples_and_factors() -> None:
    weights = np.arange(1.0, 8.0) * [1, 0.5, 1, 0, 1, 1, 1]
    np.testing.assert_allclose(
        mean_of({1: 0.5, 3: 0.0}).mean(), np.average(UPDATES, axis=0, weights=weights), rtol=1e-5, atol=1e-6
    )


def test_with_a_rule_each_counts_once_and_those_that_do_not_are_false_ones_less_to_bear() -> None:
    table = RobustTable("trimmed-mean", 2)
    sorted_six = np.sort(np.delete(UPDATES, 3, axis=0), axis=0)
    np.testing.assert_allclose(
        mean_of({1: 0.5, 3: 0.0}, table).mean(), sorted_six[1:-1].mean(axis=0), rtol=1e-5, atol=1e-6
    )


def test_more_uncounted_updates_than_attackers_leave_the_mean_of_the_others() -> None:
    made = mean_of({0: 0.0, 1: 0.0, 2: 0.0}, RobustTable("trimmed-mean", 2)).mean()
    np.testing.assert_allclose(made, UPDATES[3:].mean(axis=0), rtol=1e-5, atol=1e-6)


def test_too_few_updates_for_a_rule_are_told_by_the_numbers() -> None:
    with pytest.raises(
        AggregationError, match=r"krum needs at least 9 .* attackers = 3, and 7 .* it bears 2"
    ):
        mean_of(table=RobustTable("krum", 3)).mean()


def test_refused_updates_are_false_ones_less_to_bear() -> None:
    made = mean_of(table=RobustTable("krum", 3))
    made.refused = 1
    assert np.isfinite(made.mean()).all()
    fewer = mean_of(table=RobustTable("krum", 4))
    fewer.refused = 1
    with pytest.raises(AggregationError, match="at least 9 updates beside 1 refused as false"):
        fewer.mean()


def test_where_nobody_counts_no_version_is_made_and_all_are_judged() -> None:
    made = mean_of(dict.fromkeys(range(7), 0.0))
    with pytest.raises(AggregationError, match="None of the 7 updates"):
        made.mean()
    assert set(made.evidence) == {f"c{number}" for number in range(7)}


def test_evidence_is_found_whether_an_update_counts_or_not() -> None:
    lies = UPDATES.copy()
    lies[2], lies[5] = -lies[2], 20 * lies[5]
    for factor in (0.0, 1.0):
        made = mean_of({2: factor, 5: factor}, updates=lies)
        made.mean()
        assert made.evidence.pop("c2")["direction"] == 1.0
        assert made.evidence.pop("c5") == {"distance": 1.0}
        assert not any(made.evidence.values())


def test_a_client_that_repeats_its_update_of_another_version_is_found() -> None:
    shared = scoring()
    mean_of(scored=shared).mean()
    again = UPDATES.copy()
    again[1:] += random.standard_normal((6, SIZE)).astype(np.float32)
    made = mean_of(scored=shared, version=1, updates=again)
    made.mean()
    assert made.evidence["c0"] == {"repetition": 1.0}
    assert not made.evidence["c1"]


def test_a_rule_that_chooses_names_those_it_left_out_by_their_own_numbers() -> None:
    lies = UPDATES.copy()
    lies[6] += 9
    made = mean_of({0: 0.0}, RobustTable("multi-krum", 2), updates=lies)
    made.mean()
    assert made.rule == "multi-krum"
    assert 6 in made.left_out
    assert 0 not in made.left_out
    assert "left-out" in made.evidence["c6"]


def test_an_update_that_the_disk_does_not_take_ends_the_round(tmp_path: Path) -> None:
    table = RobustTable("median", 0, memory=1)
    made = ScoredRoundMean(table, 300_000, 3, tmp_path / "missing", scoring())
    for client in ("a", "b"):
        made.add_scored(np.ones(300_000, np.float32), 1, ScoredUpdate(client, 0, 1, 1.0))
    with pytest.raises(StoreError, match="do not fit the disk"):
        made.mean()


def test_a_round_without_updates_has_no_aggregate() -> None:
    with pytest.raises(AggregationError, match="no update"):
        mean_of(updates=UPDATES[:0]).mean()


def test_clients_whose_updates_do_not_count_oppose_nobody() -> None:
    updates = UPDATES.copy()
    updates[:4] = -updates[6]
    accused, spared = mean_of(updates=updates), mean_of({0: 0.0, 1: 0.0}, updates=updates)
    accused.mean()
    spared.mean()
    assert "direction" in accused.evidence["c6"]
    assert "direction" not in spared.evidence["c6"]
