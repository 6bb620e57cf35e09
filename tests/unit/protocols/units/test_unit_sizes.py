"""Conversations with clients of unlike speed: who gets how much, and how far ahead of others."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.units.leases import split_work
from backend.protocols.units.rules import SizeRules
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import (
    EpochClosed,
    GrantLease,
    RefuseResult,
    SplitUnit,
    Wait,
    WorkUnit,
)
from tests.support.protocols.unit_conversations import (
    PACE,
    VALID,
    begun,
    both,
    done,
    lease,
    only,
    proven,
    works,
)

SIZES = SizeRules(seconds=10.0, grain=8)


@given(
    examples=st.integers(1, 5000),
    seconds=st.floats(0.1, 1e5),
    halved=st.integers(0, 3),
    first=st.integers(0, 99),
)
def test_parts_are_the_unit_in_whole_batches(examples: int, seconds: float, halved: int, first: int) -> None:
    work = WorkUnit(4, 2, examples, 9, first)
    pieces = split_work(work, seconds, halved, SIZES, number=50)
    rows = sorted((piece.first, piece.examples) for piece in pieces)
    assert rows[0][0] == first
    assert all(a + n == b for (a, n), (b, _) in itertools.pairwise(rows))
    assert rows[-1][0] + rows[-1][1] == first + examples
    assert sorted(piece.unit for piece in pieces) == [4, *range(50, 49 + len(pieces))]
    assert all((piece.first - first) % 8 == 0 and piece.examples for piece in pieces)
    assert {piece.seed for piece in pieces} == {9}
    assert len(pieces) <= 1 + SIZES.halvings - halved
    smallest = seconds * pieces[0].examples / examples
    assert smallest <= 10.0 or halved + len(pieces) > SIZES.halvings or pieces[0].examples <= 8


def test_a_slow_client_gets_a_part_and_others_the_rest() -> None:
    one = begun(1, replicas=1, sizes=SIZES)
    one.client_connected("slow", 1, pace=0.3)
    one.client_connected("fast", 9, pace=0.001)
    split, grant = one.ask("slow", 5, 0.5, 0.0)
    assert isinstance(grant, GrantLease)
    assert split == SplitUnit(
        (WorkUnit(0, 0, 24, 0, 0), WorkUnit(2, 0, 24, 0, 24), WorkUnit(1, 0, 52, 0, 48))
    )
    assert (grant.unit, grant.first, grant.examples, one.remaining, one.next_unit) == (0, 0, 24, 3, 3)
    others = [done(one, "fast") for _ in range(2)]
    assert sorted((other.first, other.examples) for other in others) == [(24, 24), (48, 52)]
    one.returned("slow", grant.lease, 8.0)
    assert one.judged(0, {grant.lease: VALID})[-1] == EpochClosed(1, 3, 0)
    with pytest.raises(ValueError, match="a number of its own"):
        one.begin_epoch(works(2, first=2))
    one.begin_epoch(works(2, first=3))


def test_what_was_measured_counts_more_than_what_a_client_says() -> None:
    one = begun(3, replicas=1, sizes=SIZES)
    one.client_connected("ann", 1, pace=0.0001)
    done(one, "ann", seconds=40.0)
    assert only(one.ask("ann", 5, 0.5, 50.0), SplitUnit)


def test_a_unit_that_others_began_is_not_halved_and_goes_to_slow_clients_last() -> None:
    one = begun(2, "ann", sizes=SIZES)
    one.client_connected("slow", 2, pace=1.0)
    whole = lease(one, "ann")
    first = lease(one, "slow")
    assert (first.unit, first.examples) == (1, 8)
    one.returned("ann", whole.lease, 1.0)
    grant = lease(one, "slow", 1.0)
    assert (grant.unit, grant.examples) == (whole.unit, 100)


def test_leases_hold_as_long_as_their_size_takes() -> None:
    one = begun(9, "ann", replicas=1)
    for _ in range(3):
        done(one, "ann", seconds=40.0)
    one.begin_epoch([WorkUnit(100, 0, 200, 0), WorkUnit(101, 1, 50, 0)])
    assert [lease(one, "ann").deadline for _ in range(2)] == [40.0, 160.0]


def test_nobody_gets_further_than_the_bound_ahead_of_the_slowest_at_work() -> None:
    one = begun(50, "ann", "bob", replicas=1, bound=2)
    done(one, "bob")
    slow = lease(one, "bob")
    for _ in range(3):
        done(one, "ann")
    assert one.ask("ann", 5, 0.5, 1.0) == [Wait("ann", "bound", retry_at=PACE.usual)]
    one.returned("bob", slow.lease, 2.0)
    # Bob does nothing now, and nobody waits for it.
    done(one, "ann", 2.0)
    done(one, "ann", 2.0)
    # Who comes or comes back goes on from where the slowest at work is.
    ahead = lease(one, "ann", 3.0)
    again = lease(one, "bob", 3.0)
    one.returned("ann", ahead.lease, 4.0)
    done(one, "ann", 4.0)
    assert one.ask("ann", 5, 0.5, 5.0) == [Wait("ann", "bound", retry_at=3.0 + PACE.usual)]
    # Whoever is silent holds the others up until its lease ends, or for the usual time of one.
    one.heartbeat("bob", again.lease, 50.0, steps=1)
    done(one, "ann", 3.0 + PACE.usual)


def test_nobody_waits_for_who_has_no_result_that_counts() -> None:
    one = begun(50, "ann", "new", replicas=1, bound=2)
    lease(one, "new")
    for _ in range(9):
        done(one, "ann")


def restarted(one: Scheduler, **changed: Any) -> Scheduler:
    return Scheduler.restored(one._rules, replace(one.snapshot(), **changed))


def test_an_epoch_goes_on_after_a_restart() -> None:
    one = begun(5, "ann", "bob", sizes=SIZES)
    proven(one, "ann", "bob")
    one.client_connected("slow", 1, pace=1.0)
    open_lease = lease(one, "slow")
    again = restarted(one)
    assert (again.epoch, again.remaining, again.next_unit) == (1, one.remaining, one.next_unit)
    assert again.progress.tally() == replace(one.progress.tally(), leased=0)
    assert again.client("ann").trust == one.client("ann").trust
    assert isinstance(again.returned("slow", open_lease.lease, 1.0)[0], RefuseResult)
    rows: Counter[int] = Counter()
    for name in ("ann", "bob"):
        again.client_connected(name, 99)
    while again.remaining:
        grants = both(again, "ann", "bob", now=2.0)
        assert grants[0].lease > open_lease.lease
        rows[grants[0].shard] += grants[0].examples
        effects = again.judged(grants[0].unit, {grant.lease: VALID for grant in grants})
    assert rows == {2: 100, 3: 100, 4: 100}
    assert effects[-1] == EpochClosed(1, one.progress.units, 0)


def test_leases_given_after_the_last_snapshot_are_not_given_again_to_others() -> None:
    """A server that is killed knows nothing of them; who has one must not speak of somebody else's work."""
    one = begun(5, "ann", "bob")
    kept = one.snapshot()
    forgotten = lease(one, "ann")
    again = Scheduler.restored(one._rules, kept)
    again.client_connected("bob", 99)
    assert lease(again, "bob").lease > forgotten.lease


def test_what_is_not_in_the_weights_is_done_again_after_a_restart() -> None:
    one = begun(3, "ann", replicas=1)
    grants = [done(one, "ann") for _ in range(2)]
    taken = one.snapshot(unblended=[grants[1].unit])
    assert taken.done == 1
    assert [unit.work.unit for unit in taken.open] == [1, 2]
    assert Scheduler.restored(one._rules, taken).remaining == 2


def test_units_are_counted_by_where_they_are() -> None:
    one = begun(5, "ann", "bob", "cat")
    held = [lease(one, "ann"), lease(one, "cat")]
    assert one.pending == 3
    one.returned("ann", held[0].lease, 1.0)
    assert one.pending == 4
    one.drop(4)
    tally = one.progress.tally()
    assert (tally.units, tally.done, tally.dropped, tally.leased, tally.compared) == (5, 0, 1, 1, 1)
    one.client_disconnected("cat")
    second = lease(one, "bob", 2.0)
    one.returned("bob", second.lease, 3.0)
    one.judged(0, {held[0].lease: VALID, second.lease: VALID})
    assert one.progress.tally().done == 1
