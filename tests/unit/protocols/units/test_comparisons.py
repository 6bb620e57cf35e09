"""Conversations in which trusted peers check, kinds are compared apart."""

from __future__ import annotations

import pytest

from backend.protocols.client.client_kind import kind_of
from backend.protocols.units.rules import TrustRules
from backend.protocols.units.scheduler_effects import (
    Assimilate,
    CreditClient,
    DistrustClient,
    GrantLease,
    Judge,
    Wait,
)
from tests.support.protocols.unit_conversations import (
    INVALID,
    UNDECIDED,
    VALID,
    begun,
    both,
    checked,
    lease,
    only,
    proven,
)


def test_a_trusted_peer_checks_what_was_returned_and_nobody_else_does() -> None:
    one = checked()
    first = lease(one, "ann", chance=0.9)
    assert one.returned("ann", first.lease, 2.0) == []
    assert lease(one, "bob", chance=0.7).unit != first.unit
    check = lease(one, "peer", 3.0)
    assert (check.unit, check.base, check.seed) == (first.unit, first.base, first.seed)
    assert one.returned("peer", check.lease, 4.0) == [
        Judge(first.unit, (first.lease, check.lease), valid=check.lease)
    ]
    effects = one.judged(first.unit, {first.lease: VALID, check.lease: VALID})
    assert [credit.client for credit in only(effects, CreditClient)] == ["ann", "peer"]
    assert only(effects, Assimilate) == [Assimilate(first.unit, first.lease, "ann", 5)]


def test_a_peer_that_finds_a_cheat_gives_the_result_that_counts() -> None:
    one = checked()
    lie = lease(one, "ann", chance=0.9)
    one.returned("ann", lie.lease, 2.0)
    check = lease(one, "peer", 3.0)
    one.returned("peer", check.lease, 4.0)
    effects = one.judged(lie.unit, {lie.lease: INVALID, check.lease: VALID})
    assert only(effects, DistrustClient) == [DistrustClient("ann", lie.lease)]
    assert only(effects, Assimilate) == [Assimilate(lie.unit, check.lease, "peer", 5)]
    assert one.client("ann").trust.streak == 0


def test_what_a_peer_does_by_itself_is_taken_as_true() -> None:
    one = begun(1)
    one.client_connected("peer", slots=1, trusted=True)
    grant = lease(one, "peer", chance=0.0)
    assert one.returned("peer", grant.lease, 1.0) == [Judge(0, (grant.lease,), valid=grant.lease)]


@pytest.mark.parametrize("how", ["leaves", "rests", "is slow"])
def test_a_check_that_no_peer_makes_is_made_by_others(how: str) -> None:
    one = checked(3)
    first = lease(one, "ann", chance=0.9)
    one.returned("ann", first.lease, 2.0)
    assert one.ask("bob", 5, 0.9, 3.0) == [Wait("bob", "nothing")]
    if how == "is slow":
        assert one.timer() == 100.0
        one.time_passed(101.0)
        assert one.ask("bob", 5, 0.9, 101.0) == [Wait("bob", "nothing")]
        assert one.timer() == 102.0
        one.time_passed(102.0)
    elif how == "leaves":
        one.client_disconnected("peer")
    else:
        one.set_slots("peer", 0)
    second = lease(one, "bob", 102.0, chance=0.9)
    assert one.returned("bob", second.lease, 103.0) == [Judge(first.unit, (first.lease, second.lease), None)]


def test_nothing_waits_for_a_check_where_no_peer_is_here() -> None:
    one = checked()
    one.client_disconnected("peer")
    grant = lease(one, "ann", chance=0.9)
    assert one.returned("ann", grant.lease, 2.0) == [Judge(grant.unit, (grant.lease,), None)]


def test_a_peer_decides_where_results_disagree() -> None:
    one = begun(2, "ann", "eve")
    one.client_connected("peer", slots=1, trusted=True)
    grants = both(one, "ann", "eve")
    assert one.judged(0, {grant.lease: UNDECIDED for grant in grants}) == []
    one.client_connected("bob", slots=1)
    assert lease(one, "bob").unit == 1
    check = lease(one, "peer")
    assert check.unit == 0
    (judge,) = one.returned("peer", check.lease, 2.0)
    assert judge == Judge(0, (*(grant.lease for grant in grants), check.lease), valid=check.lease)


def test_kinds_are_compared_apart_as_long_as_there_are_some() -> None:
    one = begun(2, homogeneous=True)
    for name, kind in (("ann", "browser webgl"), ("bob", "peer native"), ("cat", "browser webgl")):
        one.client_connected(name, slots=1, kind=kind)
    first, alone = lease(one, "ann"), lease(one, "bob")
    assert first.unit != alone.unit
    one.client_connected("dan", slots=1, kind="browser wasm")
    one.returned("bob", alone.lease, 2.0)
    one.returned("ann", first.lease, 2.0)
    assert one.ask("dan", 5, 0.5, 3.0) == [Wait("dan", "nothing")]
    assert lease(one, "cat", 3.0).unit == first.unit
    # No second native peer came.
    one.client_disconnected("cat")
    one.time_passed(102.0)
    assert lease(one, "dan", 102.0).unit == alone.unit


def test_of_two_drawn_clients_one_with_the_same_program_repeats_an_exact_unit() -> None:
    repeated, tries = 0, 200
    for chance in range(tries):
        one, exact = begun(1), kind_of("browser", "exact", "5e" * 32)
        for name in ("ann", "bob", "cat", "dan", "eva"):
            one.client_connected(name, slots=1, kind=exact if name in ("ann", "eva") else "peer native")
        first = lease(one, "ann", chance=chance / tries)
        one.returned("ann", first.lease, 2.0)
        repeated += isinstance(one.ask("eva", 5, 0.99, 3.0)[-1], GrantLease)
    # Eva is one of four: a quarter of the first draws, and as many of the others again, but never all.
    assert 0.35 * tries < repeated < 0.55 * tries


def test_trust_is_in_a_client_with_what_it_computes_but_the_quota_is_its_own() -> None:
    one = begun(4, "bob", trust=TrustRules(proven=1, quota=80))
    one.client_connected("ann", 4, kind="browser webgl")
    proven(one, "ann", "bob")
    one.client_connected("ann", 4, kind="browser wasm")
    assert (one.client("ann").trust.streak, one.client("ann").trust.today) == (0, 2)
    one.client_connected("peer", slots=1, trusted=True)
    lie = lease(one, "ann", chance=0.5)
    one.returned("ann", lie.lease, 3.0)
    truth = lease(one, "peer", 3.0)
    one.returned("peer", truth.lease, 4.0)
    one.judged(lie.unit, {lie.lease: INVALID, truth.lease: VALID})
    one.client_connected("ann", 4, kind="browser webgl")
    level = one.client("ann").trust
    assert (level.streak, level.quota, level.faults) == (2, 8, 1)


def test_where_the_peer_that_is_to_decide_leaves_others_do() -> None:
    one = begun(1, "ann", "eve")
    one.client_connected("peer", slots=1, trusted=True)
    grants = both(one, "ann", "eve")
    one.client_connected("bob", slots=1)
    one.judged(0, {grant.lease: UNDECIDED for grant in grants})
    assert one.ask("bob", 5, 0.5, 2.0) == [Wait("bob", "nothing")]
    one.client_disconnected("peer")
    lease(one, "bob", 3.0)


def test_who_differs_late_from_what_nobody_compared_is_not_blamed() -> None:
    one = begun(1, "ann", "eve", replicas=1)
    late = lease(one, "ann")
    one.time_passed(100.0)
    lie = lease(one, "eve", 100.0)
    one.returned("eve", lie.lease, 101.0)
    one.judged(0, {lie.lease: VALID})
    assert one.returned("ann", late.lease, 102.0) == [Judge(0, (late.lease,), valid=lie.lease)]
    assert one.judged(0, {late.lease: INVALID}) == []
    assert one.client("ann").trust.quota == TrustRules().quota


def test_who_differs_late_from_what_strangers_agreed_on_is_compared_for_a_while_but_not_wrong() -> None:
    one = begun(1, "eve", "ann", "bob")
    lie = lease(one, "eve")
    one.time_passed(100.0)
    grants = both(one, "ann", "bob", now=100.0)
    one.judged(0, {grant.lease: VALID for grant in grants})
    assert one.returned("eve", lie.lease, 102.0) == [Judge(0, (lie.lease,), valid=grants[0].lease)]
    assert one.judged(0, {lie.lease: INVALID}) == []
    level = one.client("eve").trust
    assert (level.doubts, level.faults, level.quota) == (TrustRules().proven, 0, TrustRules().quota)
