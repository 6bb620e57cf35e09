"""What the owners of units and of leases promise to the rest of the scheduler."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.units.client_table import ClientTable
from backend.protocols.units.leases import Leases
from backend.protocols.units.records import TRUSTED, LeaseEvent, LeaseState, UnitRecord, UnitState
from backend.protocols.units.rules import Rules, TrustRules
from backend.protocols.units.unit_table import UnitTable
from tests.support.protocols.unit_conversations import PACE, works

RULES = Rules(pace=PACE)


def stocked(units: int = 3) -> UnitTable:
    """An epoch with units 0, 1, ..."""
    one = UnitTable(RULES)
    one.begin(one.make_next_units(works(units)))
    return one


def leasing(*clients: str) -> tuple[ClientTable, Leases]:
    client_table = ClientTable(TrustRules(), PACE.usual)
    for client in clients:
        client_table.client_connected(client, slots=100, kind="", pace=None, trusted=False)
    return client_table, Leases(client_table)


def test_a_number_is_given_to_one_unit_only() -> None:
    one = stocked()
    assert one.next_unit == 3
    one.add(UnitRecord(works(1, first=3)[0], one.epoch))
    for numbers in ([2], [3], [4, 4], []):
        with pytest.raises(ValueError, match="a number of its own"):
            one.make_next_units([work for number in numbers for work in works(1, first=number)])
    assert [unit.work.unit for unit in one.make_next_units(works(2, first=4))] == [4, 5]
    assert (one.epoch, one.next_unit) == (1, 4)


def test_units_are_kept_for_one_epoch_more() -> None:
    one = stocked()
    assert one.forget() == []
    one.begin(one.make_next_units(works(2, first=3)))
    assert [unit.work.unit for unit in one.forget()] == [0, 1, 2]
    one.begin(one.make_next_units(works(1, first=5)))
    assert sorted(one.units) == [3, 4, 5]
    assert [unit.work.unit for unit in one.current_units()] == [5]


def test_who_wants_a_lease_is_known_after_each_change() -> None:
    one = stocked()
    unit = one.units[0]
    unit.state = UnitState.DONE
    assert (len(one.waiting), one.progress.remaining) == (3, 3)
    one.changed(unit)
    one.changed(unit)
    assert (len(one.waiting), one.progress.remaining) == (2, 2)


def test_what_is_reserved_is_free_after_the_usual_time_of_a_lease_or_without_peers() -> None:
    one = stocked()
    assert one.timer() is None
    for number, (now, whom) in enumerate([(1.0, TRUSTED), (2.0, "browser wasm"), (3.0, TRUSTED)]):
        one.now = now
        one.reserve(one.units[number], whom)
    assert one.timer() == 1.0 + PACE.usual
    one.time_passed(1.0 + PACE.usual)
    assert [unit.reserved for unit in one.units.values()] == ["", "browser wasm", TRUSTED]
    one.free_peer_reservations()
    assert [unit.reserved for unit in one.units.values()] == ["", "browser wasm", ""]
    assert one.timer() == 2.0 + PACE.usual
    one.reserve(one.units[1], "")
    assert one.timer() is None


EVENTS = st.sampled_from([LeaseEvent.RETURN, LeaseEvent.RELEASE, LeaseEvent.ABORT, LeaseEvent.EXPIRE])


@given(steps=st.lists(st.tuples(st.integers(0, 7), EVENTS), max_size=20))
def test_clients_are_at_work_on_what_is_leased_to_them(steps: list[tuple[int, LeaseEvent]]) -> None:
    client_table, leases = leasing("ann", "bob")
    given = [
        leases.create(client, UnitRecord(work, 1), 0.0, seconds=10.0, longest=99.0, by_trusted_peer=False)
        for work in works(4)
        for client in ("ann", "bob")
    ]
    assert [one.id for one in given] == list(range(8)) == list(range(leases.next))
    for number, event in steps:
        before = given[number].state
        assert leases.step(given[number], event) is (given[number].state is not before)
    for name, client in client_table.clients.items():
        held = {one.id for one in given if one.client == name and one.state is LeaseState.LEASED}
        assert client.leases == held


@given(times=st.lists(st.integers(1, 50), max_size=20), renewed=st.integers(0, 60))
def test_each_silent_lease_expires_once_and_not_before_its_deadline(times: list[int], renewed: int) -> None:
    _, leases = leasing("ann")
    given = [
        leases.create(
            "ann",
            UnitRecord(work, 1),
            0.0,
            seconds=seconds,
            longest=99.0,
            by_trusted_peer=False,
        )
        for work, seconds in zip(works(len(times)), times, strict=True)
    ]
    for one in given[:3]:
        one.deadline = max(one.deadline, float(renewed))
    expired: Counter[int] = Counter()
    while (now := leases.timer()) is not None:
        while (lease := leases.expire(now)) is not None:
            assert lease.deadline == now
            expired[lease.id] += 1
    assert expired == Counter(one.id for one in given)


def test_an_expired_lease_that_is_renewed_expires_again() -> None:
    client_table, leases = leasing("ann")
    lease = leases.create(
        "ann",
        UnitRecord(works(1)[0], 1),
        0.0,
        seconds=10.0,
        longest=99.0,
        by_trusted_peer=False,
    )
    assert leases.expire(9.0) is None
    assert leases.expire(10.0) is lease
    assert not client_table.clients["ann"].leases
    leases.renew(lease, 30.0)
    lease.deadline = 30.0
    assert client_table.clients["ann"].leases == {lease.id}
    assert (leases.timer(), leases.expire(29.0), leases.expire(30.0)) == (30.0, None, lease)


def test_leases_are_their_clients_alone_until_they_are_forgotten() -> None:
    _, leases = leasing("ann", "bob")
    unit = UnitRecord(works(1)[0], 1)
    lease = leases.create("ann", unit, 0.0, seconds=10.0, longest=99.0, by_trusted_peer=False)
    assert (leases.of("ann", lease.id), leases.of("bob", lease.id)) == (lease, None)
    leases.forget(unit.leases)
    assert leases.of("ann", lease.id) is None
    assert leases.expire(100.0) is None
