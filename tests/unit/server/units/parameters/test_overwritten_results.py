"""Clients are told which of their results another parameter server overwrote, once that is certain."""

from __future__ import annotations

import numpy as np

from backend.numerics.aggregation.asynchronous import no_memory
from backend.protocols.units.scheduler_effects import Assimilate
from backend.server.units.parameters.overwritten_results import SETTLED, OverwrittenResults, result_id
from backend.stores.parameters.contract import Receipt


def blend(lease: int, client: str = "ann") -> Assimilate:
    return Assimilate(unit=lease, lease=lease, client=client, base=0)


def receipt(base: int, *held: Assimilate) -> Receipt:
    weights = np.zeros(1, np.float32)
    names = tuple(map(result_id, held))
    return Receipt(weights, no_memory(), base, staleness=0, lost=0.0, seconds=0.0, held=names)


def test_a_result_that_the_newest_weights_lack_is_told_to_its_client() -> None:
    results, lost, kept = OverwrittenResults(), blend(1), blend(2, "bob")
    assert results.blended(lost, receipt(1, lost), settled=False) == set()
    assert results.blended(kept, receipt(2, kept), settled=True) == {"ann"}
    assert (results.take("ann"), results.take("ann"), results.take("bob")) == ([1], [], [])


def test_a_result_that_comes_back_was_not_overwritten() -> None:
    """A third server had read it before it was overwritten, and writes last."""
    results, first, second, third = OverwrittenResults(), blend(1), blend(2, "bob"), blend(3, "cat")
    results.blended(first, receipt(1, first), settled=False)
    results.blended(second, receipt(2, second), settled=False)
    assert results.blended(third, receipt(3, first, third), settled=True) == {"bob"}


def test_receipts_may_arrive_in_any_order() -> None:
    results, first, second = OverwrittenResults(), blend(1), blend(2, "bob")
    results.blended(second, receipt(2, second), settled=False)
    assert results.blended(first, receipt(1, first), settled=True) == {"ann"}


def test_under_constant_load_a_result_is_decided_after_enough_newer_ones() -> None:
    results, lost = OverwrittenResults(), blend(0)
    results.blended(lost, receipt(1, lost), settled=False)
    others = [blend(number, "bob") for number in range(1, SETTLED + 1)]
    told = [
        results.blended(one, receipt(1 + one.lease, *others[: one.lease]), settled=False) for one in others
    ]
    assert told == [set()] * (SETTLED - 1) + [{"ann"}]


def test_after_a_restart_with_the_newest_weights_a_result_that_they_lack_is_told() -> None:
    results, lost, kept = OverwrittenResults(), blend(1), blend(2, "bob")
    results.blended(lost, receipt(1, lost), settled=False)
    results.blended(kept, receipt(2, kept), settled=False)
    again = OverwrittenResults(results.unknown())
    assert (again.take("ann"), again.take("bob")) == ([1], [])


def test_stores_that_lose_nothing_name_no_results() -> None:
    results = OverwrittenResults()
    plain = Receipt(np.zeros(1, np.float32), no_memory(), 1, staleness=0, lost=0.0, seconds=0.0)
    assert results.blended(blend(1), plain, settled=True) == set()
