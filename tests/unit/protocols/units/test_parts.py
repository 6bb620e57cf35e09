"""Conversations in which clients stop in the middle of a unit: parts count, and their rests are dealt out."""

from __future__ import annotations

import pytest

from backend.protocols.units.records import PartialWork
from backend.protocols.units.rules import Rules, SizeRules, TrustRules
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import (
    Abort,
    CreditClient,
    EpochClosed,
    GrantLease,
    Judge,
    RefuseResult,
    Wait,
)
from tests.support.protocols.unit_conversations import VALID, begun, checked, lease, only

HALF = PartialWork(steps=7, examples=60)


def test_a_part_is_compared_with_the_same_part() -> None:
    one = begun(1, "ann", "bob")
    first = lease(one, "ann")
    assert one.returned("ann", first.lease, 1.0, HALF) == []
    second = lease(one, "bob")
    assert (first.steps, second.steps) == (0, 7)
    assert one.returned("bob", second.lease, 2.0) == [Judge(0, (first.lease, second.lease), None)]
    effects = one.judged(0, {first.lease: VALID, second.lease: VALID})
    assert [credit.examples for credit in only(effects, CreditClient)] == [60, 60]


def test_a_part_is_always_checked_however_far_its_client_is_trusted() -> None:
    one = checked()
    one.client_disconnected("peer")
    grant = lease(one, "ann", chance=0.7)
    assert one.returned("ann", grant.lease, 2.0, HALF) == []
    assert lease(one, "bob", chance=0.7).steps == 7


def test_a_part_counts_at_once_where_nobodys_work_is_done_twice() -> None:
    one = begun(1, "ann", replicas=1)
    grant = lease(one, "ann")
    assert one.returned("ann", grant.lease, 1.0, HALF) == [Judge(0, (grant.lease,), None)]
    effects = one.judged(0, {grant.lease: VALID})
    assert only(effects, CreditClient) == [CreditClient("ann", grant.lease, 60)]


def test_what_a_part_leaves_is_a_unit_that_begins_where_it_stopped() -> None:
    one = begun(1, "ann", "bob", replicas=1)
    first = lease(one, "ann")
    one.returned("ann", first.lease, 1.0, HALF)
    assert not only(one.judged(0, {first.lease: VALID}), EpochClosed)
    # Its client may go on with it.
    rest = lease(one, "ann", 2.0, base=6)
    assert (rest.unit, rest.first_step, rest.steps, rest.base) == (1, 7, 0, 6)
    assert (rest.shard, rest.first, rest.examples, rest.seed) == (first.shard, 0, 100, first.seed)
    # Half of the rest is enough for a part of it.
    assert one.returned("ann", rest.lease, 3.0, PartialWork(2, 20)) == [Judge(1, (rest.lease,), None)]
    effects = one.judged(1, {rest.lease: VALID})
    assert only(effects, CreditClient) == [CreditClient("ann", rest.lease, 20)]
    last = lease(one, "bob", 4.0)
    assert (last.first_step, one.unit(last.unit).examples) == (9, 20)
    one.returned("bob", last.lease, 5.0)
    effects = one.judged(last.unit, {last.lease: VALID})
    assert only(effects, CreditClient) == [CreditClient("bob", last.lease, 20)]
    assert only(effects, EpochClosed) == [EpochClosed(1, 3, 0)]


def test_replicas_of_a_rest_begin_at_the_same_step_with_the_same_weights() -> None:
    one = begun(1, "ann", "bob")
    first = lease(one, "ann")
    one.returned("ann", first.lease, 1.0, HALF)
    second = lease(one, "bob", 2.0)
    assert (second.first_step, second.steps) == (0, 7)
    one.returned("bob", second.lease, 3.0)
    one.judged(0, {first.lease: VALID, second.lease: VALID})
    rest = lease(one, "ann", 4.0, base=6)
    one.returned("ann", rest.lease, 5.0)
    again = lease(one, "bob", 6.0, base=9)
    assert (again.unit, again.base, again.first_step, again.steps) == (rest.unit, 6, 7, 0)


def test_a_rest_is_not_halved_for_a_slow_client() -> None:
    one = begun(1, "ann", replicas=1, sizes=SizeRules(seconds=10.0, grain=10))
    first = lease(one, "ann")
    one.returned("ann", first.lease, 1.0, HALF)
    one.judged(0, {first.lease: VALID})
    one.client_connected("bob", slots=1, pace=1.0)
    rest = lease(one, "bob", 2.0)
    assert (rest.examples, rest.first_step) == (100, 7)


def test_a_part_that_the_saved_weights_lack_is_trained_again_without_its_rest() -> None:
    one = begun(2, "ann", replicas=1)
    first = lease(one, "ann")
    one.returned("ann", first.lease, 1.0, HALF)
    one.judged(first.unit, {first.lease: VALID})
    snapshot = one.snapshot({first.unit})
    works = [open_unit.work for open_unit in snapshot.open]
    assert [(work.unit, work.first_step, work.steps) for work in works] == [(0, 0, 7), (1, 0, 0), (2, 7, 0)]
    assert sum(work.counted_rows for work in works) == 200
    after = Scheduler.restored(Rules(replicas=1), snapshot)
    after.client_connected("ann", slots=4)
    grants = [lease(after, "ann") for _ in range(3)]
    assert {(grant.unit, grant.first_step, grant.steps) for grant in grants} == {
        (0, 0, 7),
        (1, 0, 0),
        (2, 7, 0),
    }


@pytest.mark.parametrize("part", [PartialWork(3, 40), PartialWork(30, 101)])
def test_less_than_half_of_a_unit_is_done_anew(part: PartialWork) -> None:
    one = begun(1, "ann", "bob")
    grant = lease(one, "ann")
    (refusal,) = one.returned("ann", grant.lease, 1.0, part)
    assert isinstance(refusal, RefuseResult)
    assert lease(one, "bob").steps == 0


def test_a_part_that_cannot_be_compared_is_known_before_it_is_sent_and_costs_no_wait() -> None:
    one = begun(9, "ann", "bob")
    for turn in range(8):
        grant = lease(one, "ann", float(turn))
        small = PartialWork(3, 40)
        assert not one.is_comparable("ann", grant.lease, small)
        assert one.is_comparable("ann", grant.lease, None)
        assert one.is_comparable("ann", grant.lease, HALF)
        # To ask changes nothing.
        assert one.unit(grant.unit).part is None
        one.returned("ann", grant.lease, float(turn), small)
    assert isinstance(one.ask("ann", 5, 0.5, 9.0)[-1], GrantLease)


def test_a_part_does_not_count_beside_others_who_do_it_whole_nor_a_whole_beside_parts() -> None:
    one = begun(1, "ann", "bob", "cat", "dan")
    first = lease(one, "ann")
    one.time_passed(100.0)
    second = lease(one, "bob", 100.0)
    assert isinstance(one.returned("ann", first.lease, 101.0, HALF)[0], RefuseResult)
    one.time_passed(200.0)
    third = lease(one, "cat", 200.0)
    assert one.returned("cat", third.lease, 201.0, HALF) == []
    # Bob was late, and did all of it: honest, but no use.
    (refusal,) = one.returned("bob", second.lease, 202.0)
    assert isinstance(refusal, RefuseResult)
    assert one.client("bob").trust.quota == TrustRules().quota


def test_a_part_that_does_not_hold_is_no_measure_for_others() -> None:
    one = begun(2, "eve", "ann")
    one.client_connected("peer", slots=1, trusted=True)
    lie = lease(one, "eve")
    assert one.returned("eve", lie.lease, 1.0, HALF) == []
    check = lease(one, "peer")
    assert (check.unit, check.steps) == (lie.unit, 7)
    assert one.released("peer", check.lease) == []
    one.drop(lie.unit)
    assert one.heartbeat("peer", check.lease, 2.0, steps=1) == [Abort("peer", check.lease)]


def test_a_lone_client_gets_a_unit_again_of_which_it_did_less_than_half() -> None:
    one = begun(1, "ann", replicas=1)
    small = PartialWork(3, 40)
    for turn in range(3):
        grant = lease(one, "ann", float(turn))
        assert (grant.first_step, grant.steps) == (0, 0)
        assert isinstance(one.returned("ann", grant.lease, turn + 0.5, small)[0], RefuseResult)
    grant = lease(one, "ann", 4.0)
    one.returned("ann", grant.lease, 5.0)
    assert only(one.judged(0, {grant.lease: VALID}), EpochClosed) == [EpochClosed(1, 1, 0)]


def test_others_come_first_for_what_a_client_gave_back() -> None:
    one = begun(1, "ann", "bob", replicas=1)
    grant = lease(one, "ann", 1.0)
    one.returned("ann", grant.lease, 2.0, PartialWork(3, 40))
    # After ten seconds nobody else has taken it.
    assert one.ask("ann", 5, 0.5, 3.0) == [Wait("ann", "nothing", 12.0)]
    assert lease(one, "ann", 12.0).unit == grant.unit


def test_what_a_client_gave_back_is_its_own_again_when_the_others_leave() -> None:
    one = begun(1, "ann", "bob", replicas=1)
    grant = lease(one, "ann", 1.0)
    one.released("ann", grant.lease, 2.0)
    assert isinstance(one.ask("ann", 5, 0.5, 3.0)[-1], Wait)
    one.client_disconnected("bob")
    assert lease(one, "ann", 3.0).unit == grant.unit


def test_a_client_with_a_result_or_a_late_lease_of_a_unit_never_gets_it_again() -> None:
    one = begun(1, "ann", "bob")
    first = lease(one, "ann")
    one.returned("ann", first.lease, 1.0)
    second = lease(one, "bob", 2.0)
    one.time_passed(200.0)
    for name in ("ann", "bob"):
        assert isinstance(one.ask(name, 5, 0.5, 500.0)[-1], Wait)
    # What was given back proves nothing of its household, so it may be had again.
    one.released("bob", second.lease, 501.0)
    assert lease(one, "bob", 520.0).unit == first.unit
