"""What a rule makes of kept updates equals what it makes of them in a round."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.errors import AggregationError
from backend.formats.task_file.robust import RobustTable
from backend.numerics.aggregation.server_optimizers import fedavg, fedavgm, no_state
from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.server.rounds.reaggregation.reaggregated_round import ReaggregatedRound, reaggregate
from backend.server.rounds.reaggregation.rule_choice import RuleChoice
from backend.server.rounds.robust_round_mean import RobustRoundMean
from backend.stores.updates.kept_rounds import KeptOutcome, KeptRows
from backend.stores.updates.kept_updates import KeptUpdates

SIZE, CLIENTS = 5000, 7
UPDATES = np.random.default_rng(3).normal(size=(CLIENTS, SIZE)).astype(np.float32)
EXAMPLES = [10, 20, 30, 40, 50, 60, 70]
BEFORE = ReaggregatedRound(np.ones(SIZE, np.float32), no_state())


@contextmanager
def kept_round(folder: Path, updates: NDArray[np.float32] = UPDATES) -> Iterator[KeptRows]:
    kept = KeptUpdates(folder, 1, 1 << 30)
    kept.open(1, [0])
    for client, update in enumerate(updates):
        kept.add(update, f"client{client}", float(EXAMPLES[client]))
    kept.keep(KeptOutcome(run=1, round=1, version=0, made=1))
    (rows,) = kept.open_rows()
    try:
        yield rows
    finally:
        rows.close()


def test_the_mean_weighs_by_examples_as_a_round_without_a_rule(tmp_path: Path) -> None:
    mean = WeightedMean(SIZE)
    for update, examples in zip(UPDATES, EXAMPLES, strict=True):
        mean.add(update, examples)
    with kept_round(tmp_path) as rows:
        made = reaggregate(rows, RuleChoice("mean").aggregator(0, 1), True, BEFORE, fedavg(), SIZE)
    np.testing.assert_allclose(made.weights, BEFORE.weights + mean.mean(), atol=1e-6)
    assert made.left_out == ()


def test_a_robust_rule_counts_each_update_once_as_in_a_round(tmp_path: Path) -> None:
    real = RobustRoundMean(RobustTable("multi-krum", 2), SIZE, CLIENTS, tmp_path, lambda count: b"\1" * count)
    for update, examples in zip(UPDATES, EXAMPLES, strict=True):
        real.add(update, examples)
    with kept_round(tmp_path / "kept") as rows:
        rule = RuleChoice("multi-krum").aggregator(2, 1)
        made = reaggregate(rows, rule, False, BEFORE, fedavg(), SIZE)
    np.testing.assert_allclose(made.weights, BEFORE.weights + real.mean(), atol=1e-6)
    assert made.left_out == tuple(f"client{number}" for number in real.left_out)
    assert len(made.left_out) == 2


def test_the_server_optimizers_state_goes_from_round_to_round(tmp_path: Path) -> None:
    rule, optimizer = RuleChoice("median").aggregator(1, 1), fedavgm(momentum=0.5)
    with kept_round(tmp_path) as rows:
        first = reaggregate(rows, rule, False, BEFORE, optimizer, SIZE)
        second = reaggregate(rows, rule, False, first, optimizer, SIZE)
    step = first.weights - BEFORE.weights
    np.testing.assert_allclose(second.weights - first.weights, 1.5 * step, atol=1e-5)


def test_too_few_updates_and_overflow_are_told_with_the_round(tmp_path: Path) -> None:
    with kept_round(tmp_path / "few", UPDATES[:4]) as rows:
        with pytest.raises(AggregationError, match=r"Round 1: krum with f = 1 needs at least 5 updates"):
            reaggregate(rows, RuleChoice("krum").aggregator(1, 1), False, BEFORE, fedavg(), SIZE)
        with pytest.raises(AggregationError, match="Round 1: the version would hold infinity"):
            reaggregate(rows, RuleChoice("mean").aggregator(0, 1), True, BEFORE, fedavg(1e39), SIZE)
