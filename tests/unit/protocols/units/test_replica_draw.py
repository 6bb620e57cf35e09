"""Who repeats a unit: never the same household, not who asks first, and only who is vouched for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from backend.protocols.client.household import Household
from backend.protocols.units.households import Dice, HouseholdLottery
from backend.protocols.units.records import DRAWN
from backend.protocols.units.rules import TrustRules
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import DismissResult, DistrustClient, GrantLease, Judge, Wait
from tests.support.protocols.unit_conversations import INVALID, UNDECIDED, VALID, begun, lease, only

GUARDED = TrustRules(guarded=True)


def homes(*homes: str, **rules: Any) -> Scheduler:
    """A scheduler with a client for each household: c0, c1 and so on."""
    one = begun(40, **rules)
    for number, home in enumerate(homes):
        one.client_connected(f"c{number}", slots=8, household=Household(home))
    return one


def test_a_household_never_repeats_its_own_unit() -> None:
    one = homes("a", "a", "a")
    first = lease(one, "c0")
    one.returned("c0", first.lease, 1.0)
    assert lease(one, "c1", 2.0).unit != first.unit
    one.client_connected("other", slots=1, household=Household("b"))
    assert lease(one, "other", 3.0).unit == first.unit


def test_what_a_household_gave_back_or_lost_may_go_to_it_where_nothing_is_compared() -> None:
    one = homes("a", "a", replicas=1)
    given, lost = lease(one, "c0"), lease(one, "c0")
    one.released("c0", given.lease)
    one.time_passed(100.0)
    assert {lease(one, "c1", 101.0).unit for _ in range(2)} == {given.unit, lost.unit}


def test_households_are_drawn_alike_however_many_clients_they_have() -> None:
    lottery, dice, drawn = HouseholdLottery(), Dice(0.3), Counter[str]()
    for number in range(40):
        lottery.add("crowd", f"x{number}")
    for name in ("ann", "bob", "cat"):
        lottery.add(name, name)
    lottery.discard("bob", "bob")
    for _ in range(3000):
        drawn_client = lottery.draw(dice, lambda one: one != "x0") or ""
        drawn["crowd" if drawn_client.startswith("x") else drawn_client] += 1
    assert drawn.keys() == {"crowd", "ann", "cat"}
    assert min(drawn.values()) > 800
    assert lottery.draw(dice, lambda one: one == "x39") == "x39"
    assert lottery.draw(dice, lambda one: one == "bob") is None


def test_who_asks_first_does_not_get_to_repeat_a_unit() -> None:
    repeats = Counter[str]()
    for number in range(60):
        one = homes("a", "b", "c", "d")
        first = lease(one, "c0", chance=number / 60)
        one.returned("c0", first.lease, 1.0)
        # c1 always asks first.
        for name in ("c1", "c2", "c3"):
            effects = one.ask(name, 5, 0.5, 2.0)
            repeats[name] += any(
                isinstance(effect, GrantLease) and effect.unit == first.unit for effect in effects
            )
    assert sum(repeats.values()) == 60
    assert max(repeats.values()) < 40


@pytest.mark.parametrize("chance", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("leave", [Scheduler.client_disconnected, lambda one, name: one.set_slots(name, 0)])
def test_who_is_drawn_and_leaves_or_pauses_is_replaced(
    leave: Callable[[Scheduler, str], None], chance: float
) -> None:
    one = homes("a", "b", "c")
    first = lease(one, "c0", chance=chance)
    one.returned("c0", first.lease, 1.0)
    leave(one, "c1")
    assert lease(one, "c2", 2.0).unit == first.unit


def test_two_that_knew_of_each_other_need_a_third() -> None:
    one = homes("a", "b")
    late = lease(one, "c0")
    one.time_passed(100.0)
    second = lease(one, "c1", 100.0)
    assert second.unit == late.unit
    one.client_connected("c2", slots=8, household=Household("c"))
    assert one.returned("c0", late.lease, 101.0) == []
    assert one.returned("c1", second.lease, 102.0) == []
    third = lease(one, "c2", 103.0)
    (judge,) = one.returned("c2", third.lease, 104.0)
    # The two agree against the third, and decide nothing.
    assert one.judged(late.unit, {late.lease: VALID, second.lease: VALID, third.lease: INVALID}) == []
    assert isinstance(judge, Judge)
    assert judge.leases == (late.lease, second.lease, third.lease)
    assert not one.client("c2").trust.doubts


def test_only_who_is_vouched_for_repeats_units_where_there_are_trusted_peers() -> None:
    one = homes("a", "b", trust=GUARDED)
    one.client_connected("peer", slots=2, trusted=True)
    first = lease(one, "c0")
    one.returned("c0", first.lease, 1.0)
    assert lease(one, "c1", 2.0).unit != first.unit
    check = lease(one, "peer", 2.0)
    assert check.unit == first.unit
    one.returned("peer", check.lease, 3.0)
    one.judged(first.unit, {first.lease: VALID, check.lease: VALID})
    assert one.client("c0").trust.streak == 1
    # Now c0 vouches for others.
    second = lease(one, "c1", 4.0)
    one.returned("c1", second.lease, 5.0)
    assert lease(one, "c0", 6.0).unit == second.unit


def test_a_newcomer_begins_few_units_before_one_is_compared() -> None:
    one = homes("a")
    grants = [lease(one, "c0") for _ in range(3)]
    assert one.ask("c0", 3, 0.5, 1.0) == [Wait("c0", "nothing")]
    one.client_connected("c1", slots=8, household=Household("b"))
    one.returned("c0", grants[0].lease, 1.0)
    other = lease(one, "c1", 2.0)
    one.returned("c1", other.lease, 3.0)
    one.judged(other.unit, {grants[0].lease: VALID, other.lease: VALID})
    lease(one, "c0", 4.0)


@pytest.mark.parametrize("second_first", [False, True])
def test_a_refuted_clients_other_results_are_dismissed(second_first: bool) -> None:
    one = homes("a", "b", trust=GUARDED)
    one.client_connected("peer", slots=4, trusted=True)
    lies = [lease(one, "c0") for _ in range(2)]
    for number, lie in enumerate(reversed(lies) if second_first else lies):
        one.returned("c0", lie.lease, 1.0 + number)
    check = lease(one, "peer", 3.0)
    one.returned("peer", check.lease, 4.0)
    lie, other = sorted(lies, key=lambda one: one.unit != check.unit)
    effects = one.judged(check.unit, {lie.lease: INVALID, check.lease: VALID})
    assert only(effects, DistrustClient) == [DistrustClient("c0", lie.lease)]
    assert only(effects, DismissResult) == [DismissResult("c0", other.lease)]
    assert one.unit(other.unit).pending == ()


def test_strangers_do_not_decide_between_results_while_a_peer_is_here() -> None:
    one = homes("a", "b")
    one.client_connected("peer", slots=4, trusted=True)
    first = lease(one, "c0")
    one.returned("c0", first.lease, 1.0)
    second = lease(one, "c1", 2.0)
    one.returned("c1", second.lease, 3.0)
    one.judged(first.unit, {first.lease: UNDECIDED, second.lease: UNDECIDED})
    one.client_connected("c2", slots=8, household=Household("c"))
    # The peer is slow, and does not lose its turn the first time.
    one.time_passed(150.0)
    assert lease(one, "c2", 151.0).unit != first.unit
    assert lease(one, "peer", 152.0).unit == first.unit


def test_newcomers_of_a_household_share_the_number_of_uncompared_units() -> None:
    one = homes("a", "b")
    one.client_connected("c2", slots=8, household=Household("a"))
    for name in ("c0", "c2", "c0"):
        lease(one, name)
    assert one.ask("c2", 3, 0.5, 1.0) == [Wait("c2", "nothing")]
    lease(one, "c1")


def test_only_a_trusted_peer_repeats_units_of_a_household_with_a_refuted_result() -> None:
    one = homes("a", "b", trust=GUARDED)
    one.client_connected("peer", slots=4, trusted=True)
    lie = lease(one, "c0")
    one.returned("c0", lie.lease, 1.0)
    check = lease(one, "peer", 2.0)
    one.returned("peer", check.lease, 3.0)
    one.judged(check.unit, {lie.lease: INVALID, check.lease: VALID})
    assert one.is_suspended(Household("a"), 4.0)
    one.client_connected("c2", slots=8, household=Household("a"))
    other = lease(one, "c2", 4.0)
    one.returned("c2", other.lease, 5.0)
    assert one.unit(other.unit).reserved == DRAWN
    assert lease(one, "peer", 6.0).unit == other.unit
    one.client_disconnected("peer")
    assert one.ask("c2", 3, 0.5, 7.0) == [Wait("c2", "nothing")]
