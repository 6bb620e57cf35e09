"""What conversations with the scheduler have in common."""

from __future__ import annotations

from typing import Any

from backend.protocols.units.rules import PaceRules, Rules, TrustRules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Assimilate, Effect, GrantLease, Judge, WorkUnit

VALID, INVALID, UNDECIDED = Verdict.VALID, Verdict.INVALID, Verdict.UNDECIDED
PACE = PaceRules(usual=100.0, least=10.0, most=1000.0)


def begun(units: int = 3, *clients: str, **rules: Any) -> Scheduler:
    """A scheduler with an epoch of units 0, 1, ... of as many shards, and these clients."""
    one = Scheduler(Rules(pace=PACE, **rules))
    assert one.begin_epoch(works(units)) == []
    for client in clients:
        one.client_connected(client, slots=4)
    return one


def works(units: int, first: int = 0) -> list[WorkUnit]:
    """Units of 100 examples each."""
    return [WorkUnit(first + n, n, 100, 7 * n) for n in range(units)]


def lease(one: Scheduler, client: str, now: float = 0.0, base: int = 5, chance: float = 0.99) -> GrantLease:
    """What `client` is given."""
    *_, grant = one.ask(client, base, chance, now)
    assert isinstance(grant, GrantLease), grant
    return grant


def only(effects: list[Effect], kind: type) -> list[Any]:
    """Those of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def done(one: Scheduler, client: str, now: float = 0.0, seconds: float = 1.0) -> GrantLease:
    """`client` does a unit alone, which counts."""
    grant = lease(one, client, now)
    (judge,) = one.returned(client, grant.lease, now + seconds)
    assert isinstance(judge, Judge)
    assert judge.leases == (grant.lease,)
    one.judged(grant.unit, {grant.lease: VALID})
    return grant


def proven(one: Scheduler, first: str, second: str) -> None:
    """Both do the same two units, and their results hold: they are trusted where `proven` is 1."""
    for _ in range(2):
        grants = both(one, first, second)
        assert only(one.judged(grants[0].unit, {grant.lease: VALID for grant in grants}), Assimilate)


def both(one: Scheduler, *clients: str, now: float = 0.0) -> list[GrantLease]:
    """The first of them returns a unit, the others repeat it at a time of their own each, and return it."""
    grants = []
    for number, client in enumerate(clients):
        grants.append(lease(one, client, now + number))
        one.returned(client, grants[-1].lease, now + number + 0.5)
    assert len({grant.unit for grant in grants}) == 1
    return grants


def checked(units: int = 4, **rules: Any) -> Scheduler:
    """Ann and bob are trusted, and two units are left; peer is there to check every second of theirs."""
    one = begun(units, "ann", "bob", trust=TrustRules(proven=1, spot_checks=0.5), **rules)
    proven(one, "ann", "bob")
    one.client_connected("peer", slots=1, trusted=True)
    return one
