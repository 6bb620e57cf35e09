"""Who gives work back waits, longer each time and with its household; no unit and no epoch ends by it."""

from __future__ import annotations

import pytest

from backend.protocols.units import releases
from backend.protocols.units.releases import (
    FIRST_WAIT,
    LONGEST_OF_HOUSEHOLD,
    OF_CLIENT,
    OF_HOUSEHOLD,
    ReleaseLimits,
)
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import EpochClosed, EpochReopened, GivenUp, RefuseResult, Wait
from tests.support.protocols.unit_conversations import PACE, VALID, begun, done, lease, only, works

ALONE = {"replicas": 1}
LONGEST = 600.0


def waits(limits: ReleaseLimits, client: str, now: float = 0.0) -> float:
    """Seconds that a client has to wait."""
    until = limits.retry_at(client, now)
    return 0.0 if until is None else until - now


def test_the_wait_doubles_up_to_its_bound() -> None:
    limits, seen = ReleaseLimits(LONGEST), []
    for _ in range(40):
        limits.released("ann", 0.0)
        seen.append(waits(limits, "ann"))
    assert seen[:5] == [0.0, 0.0, FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert max(seen) == seen[-1] == LONGEST
    assert seen == sorted(seen)


def test_results_shorten_it_and_so_does_time() -> None:
    limits = ReleaseLimits(LONGEST)
    for _ in range(5):
        limits.released("ann", 0.0)
    assert waits(limits, "ann") == 4 * FIRST_WAIT
    limits.counted("ann", 0.0)
    assert waits(limits, "ann") == 2 * FIRST_WAIT
    for _ in range(3):
        limits.released("ann", 0.0)
    # One release less for each bound that passes.
    limits.released("ann", 7 * LONGEST)
    assert waits(limits, "ann", 7 * LONGEST) == 0.0


def test_who_did_much_may_give_much_back_once() -> None:
    limits = ReleaseLimits(LONGEST)
    for _ in range(100):
        limits.counted("ann", 0.0)
    for _ in range(OF_CLIENT.credit + OF_CLIENT.free):
        limits.released("ann", 0.0)
    assert waits(limits, "ann") == 0.0
    limits.released("ann", 0.0)
    assert waits(limits, "ann") == FIRST_WAIT


def test_new_names_wait_with_their_household_and_those_who_worked_do_not() -> None:
    limits = ReleaseLimits(LONGEST)
    limits.client_connected("ann", "192.0.2.0/24")
    limits.counted("ann", 0.0)
    for number in range(OF_HOUSEHOLD.free + 4):
        limits.client_connected(f"eve{number}", "192.0.2.0/24")
        limits.released(f"eve{number}", 0.0)
        limits.client_disconnected(f"eve{number}")
    limits.client_connected("new", "192.0.2.0/24")
    limits.client_connected("far", "198.51.100.0/24")
    limits.client_connected("hidden", "")
    # One of them is made up for by Ann's result.
    assert waits(limits, "new") == 4 * FIRST_WAIT
    assert [waits(limits, name) for name in ("ann", "far", "hidden")] == [0.0, 0.0, 0.0]


def test_those_of_a_household_that_waits_get_one_unit_at_a_time() -> None:
    limits = ReleaseLimits(LONGEST)
    for name in ("ann", "bob", "eve"):
        limits.client_connected(name, "192.0.2.0/24")
    for _ in range(OF_HOUSEHOLD.free + 9):
        limits.released("eve", 0.0)
    assert [waits(limits, name) for name in ("ann", "bob")] == [LONGEST_OF_HOUSEHOLD] * 2
    now = LONGEST_OF_HOUSEHOLD
    assert limits.retry_at("ann", now) is None
    limits.granted("ann", now)
    assert waits(limits, "bob", now) == LONGEST_OF_HOUSEHOLD
    # Her result counts: she waits for nobody.
    limits.counted("ann", now)
    assert waits(limits, "ann", now) == 0.0


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "MAX_REMEMBERED", 3)
    limits = ReleaseLimits(LONGEST)
    for _ in range(9):
        limits.released("eve", 0.0)
    for name in ("a", "b"):
        limits.released(name, 0.0)
    assert waits(limits, "eve") > 0.0
    limits.released("c", 0.0)
    assert waits(limits, "eve") == 0.0


def given_back(one: Scheduler, client: str, now: float) -> None:
    grant = lease(one, client, now)
    one.released(client, grant.lease, now)


def test_the_scheduler_makes_a_client_wait_and_tells_until_when() -> None:
    one = begun(9, "eve", **ALONE)
    for _ in range(OF_CLIENT.free + 1):
        given_back(one, "eve", 1.0)
    assert one.ask("eve", 5, 0.5, 2.0) == [Wait("eve", "released", 1.0 + FIRST_WAIT)]
    grant = lease(one, "eve", 1.0 + FIRST_WAIT)
    # What is released twice, by others or late is not counted.
    assert only(one.released("bob", grant.lease), RefuseResult)
    one.time_passed(grant.deadline)
    one.released("eve", grant.lease, grant.deadline)
    assert not only(one.ask("eve", 5, 0.5, grant.deadline + 1.0), Wait)


def test_a_result_that_is_wrong_counts_as_given_back() -> None:
    one = begun(9, "eve", **ALONE)
    for _ in range(OF_CLIENT.free + 1):
        grant = lease(one, "eve", 1.0)
        one.returned("eve", grant.lease, 1.0)
        one.judged(grant.unit, {grant.lease: Verdict.FAULTY})
    assert one.ask("eve", 5, 0.5, 2.0) == [Wait("eve", "released", 1.0 + FIRST_WAIT)]


def test_what_the_owner_takes_back_and_trusted_peers_give_back_costs_no_wait() -> None:
    one = begun(9, "ann", **ALONE)
    one.client_connected("peer", 4, trusted=True)
    for _ in range(OF_CLIENT.free + 1):
        one.recalled("ann", lease(one, "ann", 1.0).lease)
        given_back(one, "peer", 1.0)
    for client in ("ann", "peer"):
        lease(one, client, 1.0)


def test_no_unit_is_given_up_because_it_was_given_back() -> None:
    names = [f"c{number}" for number in range(20)]
    one = begun(1, *names, most_leases=2, **ALONE)
    for name in names:
        given_back(one, name, 1.0)
    one.client_connected("ann", 1)
    assert done(one, "ann", 2.0).unit == 0


def test_an_epoch_whose_units_were_all_given_up_begins_again() -> None:
    one = begun(2, "ann", "bob", most_leases=1, **ALONE)
    lost = [lease(one, "ann", 0.0) for _ in range(2)]
    assert one.time_passed(PACE.usual) == [GivenUp(0), GivenUp(1), EpochReopened(1, 2)]
    assert (one.epoch, one.remaining, one.progress.tally().failed) == (1, 2, 0)
    assert [(unit.work.shard, unit.work.seed) for unit in one.units()] == [(0, 0), (1, 7)]
    # Results of the units of before are late: they change nothing.
    assert one.returned("ann", lost[0].lease, 101.0) == []
    # Those who had them may have them again.
    again = [lease(one, "ann", 102.0) for _ in range(2)]
    assert {grant.unit for grant in again} == {2, 3}
    for grant in again:
        one.returned("ann", grant.lease, 103.0)
        effects = one.judged(grant.unit, {grant.lease: VALID})
    assert only(effects, EpochClosed) == [EpochClosed(1, 2, 0)]
    one.begin_epoch(works(1, 4))
    assert [unit.work.unit for unit in one.units()] == [4]


def test_units_that_were_replaced_twice_are_forgotten() -> None:
    one = begun(1, "ann", most_leases=1, **ALONE)
    lost = [lease(one, "ann", 0.0)]
    one.time_passed(PACE.usual)
    lost.append(lease(one, "ann", 200.0))
    one.time_passed(200.0 + PACE.usual)
    assert only(one.returned("ann", lost[0].lease, 301.0), RefuseResult)
    assert one.returned("ann", lost[1].lease, 301.0) == []


def test_an_epoch_with_a_result_ends_though_other_units_were_given_up() -> None:
    one = begun(2, "ann", "bob", most_leases=1, **ALONE)
    lease(one, "bob", 0.0)
    done(one, "ann", 0.0)
    assert one.time_passed(PACE.usual) == [GivenUp(0), EpochClosed(1, 1, 1)]


def test_an_epoch_that_its_owner_cuts_ends_without_a_result() -> None:
    one = begun(2, "ann", most_leases=1, **ALONE)
    lease(one, "ann", 0.0)
    one.time_passed(PACE.usual)
    assert only(one.drop(1), EpochClosed) == [EpochClosed(1, 0, 1)]
