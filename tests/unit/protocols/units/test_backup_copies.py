"""Conversations at the end of an epoch: idle clients repeat what late clients work on."""

from __future__ import annotations

from backend.protocols.client.household import Household
from backend.protocols.units.records import LeaseState
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import (
    Abort,
    Assimilate,
    CreditClient,
    DistrustClient,
    EpochClosed,
    GivenUp,
    GrantLease,
    Judge,
    Wait,
)
from tests.support.protocols.unit_conversations import VALID, begun, done, lease, only

ALONE = {"replicas": 1}
# Bob's usual seconds for a unit; leases last 100 s.
USUAL = 10.0


def last_unit(units: int = 4, *clients: str, **rules: object) -> tuple[Scheduler, GrantLease]:
    """Bob has done all units but one, which ann began at 100 s."""
    one = begun(units, "ann", "bob", *clients, **{**ALONE, **rules})
    for turn in range(units - 1):
        done(one, "bob", USUAL * turn, USUAL)
    return one, lease(one, "ann", 100.0)


def compared(one: Scheduler, *pair: str) -> None:
    """Two clients do all units but one, each in its usual time."""
    now = 0.0
    while one.remaining > 1:
        grants = []
        for client in pair:
            grants.append(lease(one, client, now))
            now += USUAL
            one.returned(client, grants[-1].lease, now)
        one.judged(grants[0].unit, {grant.lease: VALID for grant in grants})


def test_an_idle_client_gets_a_copy_of_a_unit_that_is_late() -> None:
    one, late = last_unit()
    # Expected at 110 s, late at 115 s; its lease lasts until 200 s.
    assert one.ask("bob", 6, 0.5, 101.0) == [Wait("bob", "nothing", 115.0)]
    copy = lease(one, "bob", 115.0, base=7)
    assert (copy.unit, copy.base, copy.seed) == (late.unit, late.base, late.seed)


def test_the_first_valid_result_counts_and_the_other_client_is_told_that_its_work_is_not_needed() -> None:
    one, late = last_unit()
    copy = lease(one, "bob", 115.0)
    assert one.returned("bob", copy.lease, 125.0) == [Judge(late.unit, (copy.lease,), None)]
    effects = one.judged(late.unit, {copy.lease: VALID})
    assert only(effects, Assimilate) == [Assimilate(late.unit, copy.lease, "bob", 5)]
    assert only(effects, Abort) == [Abort("ann", late.lease)]
    assert len(only(effects, EpochClosed)) == 1
    assert not one.client("ann").was_late
    # What it sends nevertheless is compared, and counts as a result of its own, but not in the model again.
    assert one.returned("ann", late.lease, 126.0) == [Judge(late.unit, (late.lease,), copy.lease)]
    assert not one.came_late(late.lease)
    assert one.judged(late.unit, {late.lease: VALID}) == [CreditClient("ann", late.lease, 100)]


def test_the_copy_is_not_needed_if_the_late_client_is_first() -> None:
    one, late = last_unit()
    copy = lease(one, "bob", 115.0)
    one.returned("ann", late.lease, 116.0)
    effects = one.judged(late.unit, {late.lease: VALID})
    assert only(effects, Abort) == [Abort("bob", copy.lease)]
    assert only(effects, Assimilate) == [Assimilate(late.unit, late.lease, "ann", 5)]


def test_nobody_repeats_what_is_late_while_units_are_left() -> None:
    one = begun(5, "ann", "bob", **ALONE)
    for turn in range(3):
        done(one, "bob", USUAL * turn, USUAL)
    late = lease(one, "ann", 100.0)
    assert lease(one, "bob", 150.0).unit != late.unit
    assert lease(one, "bob", 150.0).unit == late.unit


def test_a_unit_has_one_copy_at_a_time_and_no_client_has_two_of_it() -> None:
    one, late = last_unit(4, "cat")
    copy = lease(one, "bob", 115.0)
    for client in ("ann", "bob", "cat"):
        assert isinstance(one.ask(client, 6, 0.5, 120.0)[-1], Wait)
    one.released("bob", copy.lease, 121.0)
    for client in ("ann", "bob"):
        assert isinstance(one.ask(client, 6, 0.5, 140.0)[-1], Wait)
    assert lease(one, "cat", 140.0).unit == late.unit


def test_a_household_repeats_nothing_of_its_own_where_results_are_compared() -> None:
    one = begun(4, "bob", "cat")
    compared(one, "bob", "cat")
    for name in ("ann", "eve"):
        one.client_connected(name, 4, household=Household("home"))
    late = lease(one, "ann", 100.0)
    assert one.ask("eve", 6, 0.5, 150.0) == [Wait("eve", "nothing")]
    assert lease(one, "bob", 150.0).unit == late.unit


def slow_and_fast(seconds: float) -> tuple[Scheduler, GrantLease]:
    """Ann, who needs so many seconds for a unit, began the last one at 1,000 s; bob is idle."""
    one = begun(7, "ann", "bob", **ALONE)
    for turn in range(3):
        done(one, "ann", 200.0 * turn, seconds)
    for turn in range(3):
        done(one, "bob", 700.0 + USUAL * turn, USUAL)
    return one, lease(one, "ann", 1000.0)


def test_a_client_that_needs_more_than_a_usual_lease_is_overtaken_by_one_that_is_twice_as_fast() -> None:
    one, slow = slow_and_fast(150.0)
    # Ann is expected at 1,150 s, bob would be there 10 s after he asks.
    copy = lease(one, "bob", 1100.0)
    assert copy.unit == slow.unit
    one.released("bob", copy.lease, 1101.0)
    one.client_connected("cat", 4)
    # Nobody knows how fast cat is; ann is nearly done.
    assert one.ask("cat", 6, 0.5, 1140.0) == [Wait("cat", "nothing", 1225.0)]


def test_a_slow_client_that_is_in_time_is_not_overtaken() -> None:
    one, slow = slow_and_fast(90.0)
    assert one.ask("bob", 6, 0.5, 1001.0) == [Wait("bob", "nothing", 1135.0)]
    assert lease(one, "bob", 1135.0).unit == slow.unit


def test_late_clients_get_no_copies_while_others_are_punctual() -> None:
    one = begun(5, "ann", "bob", "eve", **ALONE)
    lease(one, "eve")
    one.time_passed(100.0)
    for turn in range(4):
        done(one, "bob", 100.0 + USUAL * turn, USUAL)
    late = lease(one, "ann", 150.0)
    assert one.ask("eve", 6, 0.5, 200.0) == [Wait("eve", "nothing")]
    assert lease(one, "bob", 200.0).unit == late.unit


def test_a_unit_is_not_given_up_while_its_first_client_works_on_it() -> None:
    one, late = last_unit(4, most_leases=2)
    copy = lease(one, "bob", 115.0)
    for now in (150.0, 200.0, 250.0):
        one.heartbeat("ann", late.lease, now, steps=int(now))
    assert not only(one.time_passed(260.0), GivenUp)
    assert one.unit(late.unit).leases[1].state is LeaseState.EXPIRED
    assert one.returned("ann", late.lease, 270.0) == [Judge(late.unit, (late.lease,), None)]
    one.judged(late.unit, {late.lease: VALID})
    assert copy.unit == late.unit


def test_copies_go_to_clients_of_the_same_kind_where_only_those_are_compared() -> None:
    one = begun(4, homogeneous=True)
    for name, kind in (("ann", "a"), ("bob", "a"), ("cat", "b")):
        one.client_connected(name, 4, kind=kind)
    compared(one, "ann", "bob")
    late = lease(one, "ann", 100.0)
    assert isinstance(one.ask("cat", 6, 0.5, 180.0)[-1], Wait)
    assert lease(one, "bob", 180.0).unit == late.unit


def test_a_late_repetition_is_repeated_by_a_drawn_client_not_by_the_first_that_asks() -> None:
    one = begun(4, "ann", "bob")
    compared(one, "ann", "bob")
    first = lease(one, "ann", 100.0)
    one.returned("ann", first.lease, 101.0)
    late = lease(one, "bob", 101.0)
    names = [f"c{n}" for n in range(20)]
    for name in names:
        one.client_connected(name, 1)
    # Even ann, whose result waits, has somebody drawn.
    (wait,) = one.ask("ann", 6, 0.5, 150.0)
    assert wait == Wait("ann", "nothing", 151.0)
    drawn = one.unit(first.unit).reserved.removeprefix("@")
    assert drawn in names
    for name in names:
        if name != drawn:
            assert isinstance(one.ask(name, 6, 0.5, 151.0)[-1], Wait)
    third = lease(one, drawn, 152.0)
    assert third.unit == first.unit
    one.returned(drawn, third.lease, 153.0)
    effects = one.judged(first.unit, dict.fromkeys((first.lease, third.lease), VALID))
    assert only(effects, Abort) == [Abort("bob", late.lease)]
    assert not only(effects, DistrustClient)
    assert sorted(credit.client for credit in only(effects, CreditClient)) == sorted(["ann", drawn])


def test_a_trusted_peers_check_is_not_repeated() -> None:
    one = begun(4, "ann", "bob")
    one.client_connected("peer", slots=1, trusted=True)
    for turn in range(3):
        done(one, "peer", 10.0 * turn, 10.0)
    first = lease(one, "ann", 100.0)
    one.returned("ann", first.lease, 101.0)
    assert lease(one, "peer", 101.0).unit == first.unit
    assert one.ask("bob", 6, 0.5, 180.0) == [Wait("bob", "nothing")]


def test_a_drawn_client_that_does_not_take_its_unit_is_replaced() -> None:
    one = begun(4, "ann", "bob")
    compared(one, "ann", "bob")
    first = lease(one, "ann", 100.0)
    one.returned("ann", first.lease, 101.0)
    assert one.unit(first.unit).reserved == "@bob"
    one.client_connected("cat", 1)
    assert one.ask("cat", 6, 0.5, 102.0) == [Wait("cat", "nothing", 116.0)]
    assert one.unit(first.unit).draws == 1
    one.ask("cat", 6, 0.5, 116.0)
    assert one.unit(first.unit).draws == 2
