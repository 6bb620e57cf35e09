"""A client with two slots would know before it works whether a unit is compared, and lie where it is not."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from backend.protocols.client.household import Household
from backend.protocols.units.rules import Rules, TrustRules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import (
    DismissResult,
    Effect,
    GrantLease,
    Judge,
    WorkUnit,
)
from backend.protocols.units.trust import TrustLevel
from tests.support.protocols.unit_conversations import VALID, begun, lease, only

# Every result of this client would be compared with this probability.
STREAK, CAUTION = 400, 8.0
CHANCE = 10 * CAUTION / STREAK


@dataclass
class Liar:
    """Takes two units, and learns what it can before it returns the first; `slots` in all."""

    guarded: bool
    slots: int = 2
    dice: random.Random = field(default_factory=lambda: random.Random(1))
    now: float = 0.0

    def __post_init__(self) -> None:
        rules = TrustRules(guarded=self.guarded, caution=CAUTION, quota=10**6)
        self.scheduler = Scheduler(Rules(trust=rules))
        self.scheduler.begin_epoch([WorkUnit(n, n, 64, 1) for n in range(4000)])
        self.scheduler.client_connected("eve", self.slots, household=Household("e"))
        self.scheduler.client_connected("ann", 1, household=Household("a"))
        level = TrustLevel(10**6, streak=STREAK)
        for name in ("eve", "ann"):
            self.scheduler._client_table.set_trust(name, level)

    def take(self) -> GrantLease | None:
        effects = self.scheduler.ask("eve", 0, self.dice.random(), self.now)
        return next((one for one in effects if isinstance(one, GrantLease)), None)

    def give(self, grant: GrantLease) -> list[Effect]:
        return self.scheduler.returned("eve", grant.lease, self.now)


@pytest.mark.parametrize("guarded", [True, False])
def test_a_second_unit_does_not_tell_whether_the_first_is_compared(guarded: bool) -> None:
    liar, compared = Liar(guarded), {True: [0, 0], False: [0, 0]}
    for turn in range(1000):
        liar.now = float(turn)
        first, second = liar.take(), liar.take()
        assert first is not None
        alone = bool(only(liar.give(first), Judge))
        seen = compared[second is not None]
        seen[0], seen[1] = seen[0] + (not alone), seen[1] + 1
        for grant in filter(None, (first, second)):
            liar.scheduler.drop(grant.unit)
    hits, turns = compared[True]
    assert turns > 900
    assert hits / turns > 0.8 * CHANCE


def test_few_units_of_a_proven_client_are_under_way() -> None:
    liar = Liar(guarded=False, slots=64)
    grants = [grant for grant in (liar.take() for _ in range(64)) if grant]
    assert len(grants) == TrustRules().unproved


@pytest.mark.parametrize("seed", range(10))
def test_none_of_the_results_at_once_counts_after_the_first_that_waits_for_a_comparison(seed: int) -> None:
    liar, waits = Liar(guarded=False, slots=64, dice=random.Random(seed)), False
    while not waits:
        for grant in [grant for grant in (liar.take() for _ in range(64)) if grant]:
            judges = only(liar.give(grant), Judge)
            assert not (waits and judges)
            waits = waits or not judges
            for judge in judges:
                liar.scheduler.judged(judge.unit, dict.fromkeys(judge.leases, Verdict.VALID))
    assert len([grant for grant in (liar.take() for _ in range(64)) if grant]) < TrustRules().unproved


def test_an_expired_lease_does_not_tell_it_either() -> None:
    one = begun(9, trust=TrustRules(proven=1))
    for name in ("eve", "mate"):
        one.client_connected(name, slots=2, household=Household("e"))
        one._client_table.set_trust(name, TrustLevel(1000, streak=9))
    # None of these chances says that the unit is compared, and yet its household does not get it again.
    held = lease(one, "eve", chance=0.9)
    one.time_passed(held.deadline)
    assert lease(one, "mate", held.deadline, chance=0.9).unit != held.unit


def test_results_held_back_count_once_the_comparison_is_over() -> None:
    one = begun(4, trust=TrustRules(proven=1))
    for name in ("ann", "bob"):
        one.client_connected(name, slots=3, household=Household(name))
        one._client_table.set_trust(name, TrustLevel(1000, streak=9))
    first, second, third = (lease(one, "ann", chance=chance) for chance in (0.01, 0.9, 0.9))
    assert [one.returned("ann", grant.lease, 1.0) for grant in (first, second, third)] == [[], [], []]
    repeat = lease(one, "bob", 1.0)
    assert repeat.unit == first.unit
    one.returned("bob", repeat.lease, 2.0)
    effects = one.judged(first.unit, {first.lease: VALID, repeat.lease: VALID})
    assert [judge.leases for judge in only(effects, Judge)] == [(second.lease,), (third.lease,)]


def lying(*peers: str) -> tuple[Scheduler, GrantLease, GrantLease]:
    """Eve returns a lie that is compared, and another result, which is held back."""
    one = begun(12, trust=TrustRules(proven=1))
    for name in ("eve", "ann", "bob"):
        one.client_connected(name, slots=3, trusted=name in peers)
        one._client_table.set_trust(name, TrustLevel(1000, streak=9))
    lie, other = (lease(one, "eve", chance=chance) for chance in (0.01, 0.9))
    assert [one.returned("eve", grant.lease, 1.0) for grant in (lie, other)] == [[], []]
    return one, lie, other


def repeated(one: Scheduler, unit: int, now: float) -> int:
    """Who is drawn repeats the unit; returns the lease."""
    grants = [lease(one, name, now) for name in ("ann", "bob")]
    repeat = next(grant for grant in grants if grant.unit == unit)
    assert only(one.returned(repeat.client, repeat.lease, now + 1.0), Judge)
    return repeat.lease


def test_a_result_held_back_is_dismissed_after_a_lie() -> None:
    one, lie, other = lying("ann")
    repeat = repeated(one, lie.unit, 2.0)
    effects = one.judged(lie.unit, {lie.lease: Verdict.INVALID, repeat: VALID})
    assert only(effects, DismissResult) == [DismissResult("eve", other.lease)]
    assert not only(effects, Judge)


def test_a_result_held_back_is_compared_after_another_was_outvoted() -> None:
    one, lie, other = lying()
    first = repeated(one, lie.unit, 2.0)
    assert one.judged(lie.unit, dict.fromkeys((lie.lease, first), Verdict.UNDECIDED)) == []
    second = repeated(one, lie.unit, 4.0)
    effects = one.judged(lie.unit, {lie.lease: Verdict.INVALID, first: VALID, second: VALID})
    assert not only(effects, Judge)
    assert one.unit(other.unit).quorum == 2
