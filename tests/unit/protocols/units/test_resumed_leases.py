"""Who gave a unit back and has a checkpoint of it gets it again, unless somebody else has it by now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.protocols.units.records import LeaseState
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Assimilate, GrantLease, Judge, LeaseRenewed
from tests.support.protocols.unit_conversations import PACE, VALID, begun, lease, only

ALONE = {"replicas": 1}


def given_back(units: int = 1, now: float = 10.0) -> tuple[Scheduler, GrantLease]:
    """A client that gave its unit back, and left."""
    one = begun(units, "ann", "bob", **ALONE)
    grant = lease(one, "ann")
    assert one.released("ann", grant.lease, now) == []
    one.client_disconnected("ann")
    return one, grant


def test_the_same_lease_with_the_same_base_is_given_again_and_its_result_counts() -> None:
    one, grant = given_back()
    one.client_connected("ann", slots=1)
    assert one.unit(grant.unit).base is None
    assert one.resumed("ann", grant.lease, grant.base, 20.0) == [
        LeaseRenewed("ann", grant.lease, 20.0 + PACE.usual)
    ]
    assert one.unit(grant.unit).base == grant.base
    assert one.client("ann").leases == {grant.lease}
    assert one.timer() is not None
    assert not only(one.ask("bob", 5, 0.5, 21.0), GrantLease)
    (judge,) = one.returned("ann", grant.lease, 30.0)
    assert isinstance(judge, Judge)
    assert only(one.judged(grant.unit, {grant.lease: VALID}), Assimilate)


def test_a_unit_that_another_client_got_is_not_given_again() -> None:
    one, grant = given_back()
    other = lease(one, "bob", now=15.0, base=6)
    assert other.unit == grant.unit
    assert one.resumed("ann", grant.lease, grant.base, 20.0) == []
    # Nor after that client gave it back: it began from other weights.
    one.released("bob", other.lease, 21.0)
    assert one.resumed("ann", grant.lease, grant.base, 22.0) == []
    assert one.resumed("bob", other.lease, other.base, 22.0) != []


def test_only_its_client_gets_it_once_and_before_its_end() -> None:
    one, grant = given_back()
    assert one.resumed("bob", grant.lease, grant.base, 20.0) == []
    assert one.resumed("ann", grant.lease, grant.base, PACE.most) == []
    assert one.resumed("ann", grant.lease + 1, grant.base, 20.0) == []
    assert one.resumed("ann", grant.lease, grant.base, PACE.most - 1.0) == [
        LeaseRenewed("ann", grant.lease, PACE.most)
    ]
    assert one.resumed("ann", grant.lease, grant.base, PACE.most - 1.0) == []


def test_a_resumed_lease_expires_like_any_other() -> None:
    one, grant = given_back()
    one.resumed("ann", grant.lease, grant.base, 20.0)
    one.time_passed(20.0 + PACE.usual)
    assert one.unit(grant.unit).leases[0].state is LeaseState.EXPIRED
    assert lease(one, "bob", now=20.0 + PACE.usual).unit == grant.unit


@pytest.mark.parametrize("over", ["dropped", "epoch"])
def test_a_unit_that_is_over_is_not_given_again(over: str) -> None:
    one, grant = given_back(2)
    if over == "dropped":
        one.drop(grant.unit)
    else:
        one.begin_epoch([replace(one.unit(grant.unit).work, unit=9)])
    assert one.resumed("ann", grant.lease, grant.base, 20.0) == []
