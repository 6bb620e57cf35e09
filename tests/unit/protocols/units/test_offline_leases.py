"""Leases of clients that work for a time without a connection."""

from __future__ import annotations

from dataclasses import replace

from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import GrantLease, Judge, LeaseRenewed, Wait
from tests.support.protocols.unit_conversations import PACE, VALID, done, lease, works

HOUR = 3600.0


def begun(units: int, *clients: str, offline: float = HOUR) -> Scheduler:
    """An epoch of a task that allows `offline` seconds."""
    one = Scheduler(Rules(replicas=1, pace=replace(PACE, offline=offline)))
    one.begin_epoch(works(units))
    for client in clients:
        one.client_connected(client, slots=2)
    return one


def test_a_lease_lasts_longer_by_the_time_without_a_connection() -> None:
    one = begun(3, "ann")
    assert lease(one, "ann").deadline == 100.0
    one.set_slots("ann", 2, offline=1800.0)
    grant = lease(one, "ann", now=10.0)
    assert grant.deadline == 1910.0
    # So often as without: a client that is there is known to be.
    assert grant.heartbeat == 100.0 / 3
    one.client_disconnected("ann")
    assert one.time_passed(1909.0) == []
    assert one.pending == 2
    one.time_passed(1910.0)
    assert one.pending == 3


def test_a_task_bounds_the_time_and_none_is_given_without_one() -> None:
    for offline, deadline in ((600.0, 700.0), (0.0, 100.0)):
        one = begun(1, "ann", offline=offline)
        one.set_slots("ann", 2, offline=HOUR)
        assert lease(one, "ann").deadline == deadline


def test_each_heartbeat_begins_the_time_again_but_not_for_ever() -> None:
    one = begun(1, "ann")
    one.set_slots("ann", 2, offline=HOUR)
    grant = lease(one, "ann")
    assert one.heartbeat("ann", grant.lease, 50.0, steps=1) == [LeaseRenewed("ann", grant.lease, 3750.0)]
    # The longest lease is 1000 s, and the time without a connection.
    assert one.heartbeat("ann", grant.lease, 2000.0, steps=2) == [LeaseRenewed("ann", grant.lease, 4600.0)]


def test_a_client_that_says_no_more_that_it_goes_offline_gets_usual_leases() -> None:
    one = begun(2, "ann")
    one.set_slots("ann", 2, offline=HOUR)
    one.set_slots("ann", 2)
    assert lease(one, "ann").deadline == 100.0
    one.set_slots("ann", 2, offline=HOUR)
    one.client_disconnected("ann")
    one.client_connected("ann", slots=2)
    assert lease(one, "ann").deadline == 100.0


def test_the_time_in_the_buffer_does_not_make_a_client_slow() -> None:
    one = begun(8, "ann")
    one.set_slots("ann", 8, offline=HOUR)
    grants = [lease(one, "ann") for _ in range(8)]
    times = [5.0, 10.0, 15.0, *[3000.0] * 5]
    for grant, now in zip(grants, times, strict=True):
        if now == 3000.0:
            one.client_disconnected("ann")
            one.client_connected("ann", slots=8)
        (judge,) = one.returned("ann", grant.lease, now)
        assert isinstance(judge, Judge)
        one.judged(grant.unit, {grant.lease: VALID})
    # Of 100 examples each, one after the other.
    assert list(one.client("ann").paces) == [0.05] * 3
    assert not one.client("ann").was_late


def test_who_is_gone_with_buffered_units_holds_up_nobody_who_is_idle() -> None:
    one = begun(8, "ann", "bob")
    one.client_disconnected("bob")
    one.set_slots("ann", 8, offline=HOUR)
    grants = [lease(one, "ann") for _ in range(8)]
    for n, grant in enumerate(grants[:3]):
        one.returned("ann", grant.lease, 5.0 + 5.0 * n)
        one.judged(grant.unit, {grant.lease: VALID})
    one.client_disconnected("ann")
    one.client_connected("bob", slots=1)
    # The fourth is expected at 20 s, and late when half as long again has passed.
    assert one.ask("bob", 6, 0.5, 20.0) == [Wait("bob", "nothing", 30.0)]
    assert lease(one, "bob", now=30.0).unit == grants[3].unit


def test_a_client_buffers_no_more_than_its_share_of_the_epoch() -> None:
    one = begun(12, "ann", "bob", "cat")
    one.set_slots("ann", 64, offline=HOUR)
    for _ in range(4):
        lease(one, "ann")
    assert one.ask("ann", 5, 0.5, 0.0) == [Wait("ann", "slots")]
    # Alone it gets all.
    for name in ("bob", "cat"):
        one.client_disconnected(name)
    for _ in range(8):
        lease(one, "ann")
    assert one.ask("ann", 5, 0.5, 0.0)[0] == Wait("ann", "slots")


def test_a_repetition_lasts_as_long_as_ever_since_others_wait_for_it() -> None:
    one = Scheduler(Rules(replicas=2, pace=replace(PACE, offline=HOUR)))
    one.begin_epoch(works(1))
    for client in ("ann", "bob"):
        one.client_connected(client, slots=2)
        one.set_slots(client, 2, offline=HOUR)
    first = lease(one, "ann")
    assert first.deadline == 3700.0
    one.returned("ann", first.lease, 10.0)
    second = lease(one, "bob", now=10.0)
    assert (second.unit, second.deadline) == (0, 110.0)
    assert one.heartbeat("bob", second.lease, 20.0, steps=1) == [LeaseRenewed("bob", second.lease, 120.0)]


def test_a_client_that_works_offline_gets_no_copies_of_last_units() -> None:
    one = begun(5, "ann", "bob")
    for name in ("ann", "ann", "bob", "bob", "bob"):
        grant = lease(one, name)
        if name == "bob":
            one.returned(name, grant.lease, 10.0)
            one.judged(grant.unit, {grant.lease: VALID})
    one.set_slots("bob", 2, offline=HOUR)
    assert isinstance(one.ask("bob", 5, 0.5, 99.0)[0], Wait)
    one.set_slots("bob", 2)
    assert lease(one, "bob", now=99.0).unit == 0


def test_leases_that_a_client_has_last_longer_too_once_it_says_that_it_goes_offline() -> None:
    one = begun(1, "ann")
    lease(one, "ann")
    for _ in range(2):
        one.set_slots("ann", 2, offline=HOUR)
    one.client_disconnected("ann")
    one.time_passed(3699.0)
    assert one.pending == 0
    one.time_passed(3700.0)
    assert one.pending == 1


def test_a_longer_time_without_a_connection_extends_leases_that_were_already_longer() -> None:
    one = begun(1, "ann")
    one.set_slots("ann", 2, offline=600.0)
    assert lease(one, "ann").deadline == 700.0
    one.set_slots("ann", 2, offline=HOUR)
    one.client_disconnected("ann")
    assert one.time_passed(3699.0) == []
    assert one.pending == 0
    one.time_passed(3700.0)
    assert one.pending == 1


def last_buffered(count: int) -> tuple[Scheduler, list[GrantLease]]:
    """Ann, who needs 10 s for a unit as bob does, took the last units at 200 s; bob is idle."""
    one = begun(6 + count, "ann", "bob")
    for turn, client in enumerate(["bob"] * 3 + ["ann"] * 3):
        done(one, client, 10.0 * turn, 10.0)
    one.set_slots("ann", count, offline=HOUR)
    one.client_disconnected("bob")
    buffered = [lease(one, "ann", 200.0) for _ in range(count)]
    one.client_connected("bob", slots=2)
    return one, buffered


def test_copies_of_buffered_units_are_taken_from_the_end_of_the_queue() -> None:
    one, buffered = last_buffered(40)
    # Ann trains one after the other until 600 s; what she begins after 300 s may be overtaken.
    assert lease(one, "bob", 210.0).unit == buffered[-1].unit
    assert lease(one, "bob", 211.0).unit == buffered[-2].unit


def test_buffered_units_are_late_by_their_place_in_the_queue() -> None:
    one, buffered = last_buffered(4)
    # They are expected 10, 20, 30 and 40 s after 200 s, and late after half as long again.
    assert one.ask("bob", 6, 0.5, 201.0) == [Wait("bob", "nothing", 215.0)]
    assert lease(one, "bob", 216.0).unit == buffered[0].unit
    assert one.ask("bob", 6, 0.5, 217.0) == [Wait("bob", "nothing", 230.0)]
