"""Results count before they are proven, and are taken out when one of their client's is refuted."""

from __future__ import annotations

import pytest

from backend.protocols.units.rules import TrustRules
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import (
    Assimilate,
    CreditClient,
    Effect,
    ForgetResult,
    GrantLease,
    Judge,
    KeepResults,
    RefuseResult,
    TakeOutResults,
    Wait,
)
from tests.support.protocols.unit_conversations import INVALID, VALID, begun, lease, only, works


def guarded(units: int = 6, most: int = 10) -> Scheduler:
    """Ann has one result that the trusted peer confirmed, and is believed from now on; bob is here, too."""
    rules = TrustRules(proven=1, spot_checks=0.1, caution=0.1, guarded=True, provisional=most)
    one = begun(units, "ann", "bob", trust=rules)
    one.client_connected("peer", slots=4, trusted=True)
    confirmed(one, "ann")
    return one


def confirmed(one: Scheduler, client: str, now: float = 0.0) -> None:
    """The peer repeats a unit of `client`, with the same result."""
    first = lease(one, client, now, chance=0.5)
    assert one.returned(client, first.lease, now + 1.0) == []
    check = lease(one, "peer", now + 2.0)
    assert check.unit == first.unit
    one.returned("peer", check.lease, now + 3.0)
    effects = one.judged(first.unit, {first.lease: VALID, check.lease: VALID})
    assert not only(effects, Assimilate)[0].provisional


def believed(one: Scheduler, client: str, now: float = 10.0) -> tuple[GrantLease, list[Effect]]:
    """A result of `client` counts without a comparison."""
    grant = lease(one, client, now, chance=0.5)
    assert one.returned(client, grant.lease, now + 1.0) == [Judge(grant.unit, (grant.lease,), None)]
    return grant, one.judged(grant.unit, {grant.lease: VALID})


def test_a_newcomers_first_result_is_repeated_by_a_trusted_peer_alone() -> None:
    one = begun(4, "ann", "bob", trust=TrustRules(guarded=True, provisional=10))
    one.client_connected("peer", slots=1, trusted=True)
    first = lease(one, "ann")
    one.returned("ann", first.lease, 1.0)
    assert lease(one, "bob", 2.0).unit != first.unit
    assert lease(one, "peer", 2.0).unit == first.unit


def test_what_nobody_repeated_is_provisional() -> None:
    one = guarded()
    grant, effects = believed(one, "ann")
    assert only(effects, Assimilate) == [Assimilate(grant.unit, grant.lease, "ann", 5, provisional=True)]


def test_a_refuted_clients_provisional_results_are_taken_out() -> None:
    one = guarded()
    _, first = believed(one, "ann")
    second, effects = believed(one, "ann", 20.0)
    assert not only(first, ForgetResult)
    assert only(effects, ForgetResult) == [ForgetResult(only(first, Assimilate)[0].lease)]
    lie = lease(one, "ann", 30.0, chance=0.95)
    one.returned("ann", lie.lease, 31.0)
    check = lease(one, "peer", 32.0)
    one.returned("peer", check.lease, 33.0)
    effects = one.judged(lie.unit, {lie.lease: INVALID, check.lease: VALID})
    assert only(effects, TakeOutResults) == [TakeOutResults("ann", 2)]
    assert only(effects, ForgetResult) == [ForgetResult(second.lease)]
    assert one.begin_audits() == 0


def test_an_audit_repeats_the_newest_provisional_result() -> None:
    one = guarded()
    believed(one, "ann")
    newest, _ = believed(one, "ann", 20.0)
    assert one.begin_audits() == 1
    assert one.audits == 1
    audit = lease(one, "peer", 30.0, base=99)
    work = (newest.shard, newest.first, newest.examples, newest.seed, newest.base, newest.epoch)
    assert (audit.shard, audit.first, audit.examples, audit.seed, audit.base, audit.epoch) == work
    assert audit.unit != newest.unit
    (judge,) = one.returned("peer", audit.lease, 31.0)
    assert judge == Judge(audit.unit, (audit.lease,), None, newest.lease)
    effects = one.judged(audit.unit, {audit.lease: VALID})
    assert effects == [CreditClient("peer", audit.lease, 100)]
    assert (one.audits, one.begin_audits()) == (0, 0)
    assert not one.client("ann").trust.faults


def test_who_is_refuted_by_an_audit_is_taken_out_and_never_believed_again() -> None:
    one = guarded()
    newest, _ = believed(one, "ann")
    one.begin_audits()
    audit = lease(one, "peer", 30.0)
    one.returned("peer", audit.lease, 31.0)
    effects = one.judged(audit.unit, {audit.lease: INVALID})
    assert only(effects, TakeOutResults) == [TakeOutResults("ann", 1)]
    assert only(effects, ForgetResult) == [ForgetResult(newest.lease)]
    assert one.client("ann").trust.faults == 1
    grant = lease(one, "ann", 40.0, chance=0.5)
    assert one.returned("ann", grant.lease, 41.0) == []


def test_a_confirmed_result_does_not_speak_for_one_that_came_later() -> None:
    one = guarded()
    checked = lease(one, "ann", 10.0, chance=0.95)
    one.returned("ann", checked.lease, 11.0)
    # A spot check holds nothing up: this one counts before the check has ended.
    believed(one, "ann", 20.0)
    check = lease(one, "peer", 30.0)
    one.returned("peer", check.lease, 31.0)
    one.judged(checked.unit, {checked.lease: VALID, check.lease: VALID})
    assert one.begin_audits() == 1


def test_a_confirmed_result_spares_an_audit_of_what_came_before() -> None:
    one = guarded()
    believed(one, "ann")
    confirmed_now = lease(one, "ann", 20.0, chance=0.95)
    one.returned("ann", confirmed_now.lease, 21.0)
    check = lease(one, "peer", 22.0)
    one.returned("peer", check.lease, 23.0)
    one.judged(confirmed_now.unit, {confirmed_now.lease: VALID, check.lease: VALID})
    assert one.begin_audits() == 0


def test_a_trusted_peer_that_hangs_does_not_keep_newcomers_out() -> None:
    one = begun(4, "ann", "bob", trust=TrustRules(guarded=True, provisional=10))
    one.client_connected("peer", slots=1, trusted=True)
    confirmed(one, "bob")
    first = lease(one, "ann", 10.0)
    one.returned("ann", first.lease, 11.0)
    assert isinstance(one.ask("bob", 5, 0.5, 12.0, fresh=False)[0], Wait)
    for turn in range(1, 5):
        one.time_passed(11.0 + 101.0 * turn)
    assert lease(one, "bob", 500.0).unit == first.unit


def test_strangers_do_not_get_audits_not_even_after_a_peer_was_late() -> None:
    one = guarded(units=2)
    believed(one, "ann")
    assert one.begin_audits() == 1
    audit = lease(one, "peer", 30.0)
    one.time_passed(31.0 + 1000.0)
    assert isinstance(one.ask("bob", 5, 0.5, 1032.0)[0], Wait)
    again = lease(one, "peer", 1032.0)
    assert again.unit == audit.unit
    assert only(one.returned("peer", again.lease, 1033.0), Judge)


def test_an_audit_that_a_peer_always_gives_back_is_given_up() -> None:
    one = guarded(units=2)
    believed(one, "ann")
    one.begin_audits()
    given = 0
    while one.audits:
        one.released("peer", lease(one, "peer", 30.0).lease, 30.0)
        given += 1
    assert given == 12


def test_an_audit_holds_no_epoch_up_and_outlasts_it() -> None:
    one = guarded(units=2)
    newest, effects = believed(one, "ann")
    assert one.remaining == 0
    one.client_disconnected("ann")
    one.begin_epoch(works(2, first=one.next_unit))
    assert (one.audits, one.remaining) == (1, 2)
    one.begin_epoch(works(2, first=one.next_unit))
    one.begin_epoch(works(2, first=one.next_unit))
    audit = lease(one, "peer", 30.0)
    assert audit.epoch == newest.epoch == 1
    assert only(effects, Assimilate)[0].provisional
    assert one.progress.tally().units == 2


def test_clients_that_are_here_are_audited_at_the_end_only() -> None:
    one = guarded()
    believed(one, "ann")
    one.begin_epoch(works(2, first=one.next_unit))
    assert one.audits == 0
    assert one.begin_audits() == 1


def test_dropped_audits_are_begun_again_and_their_results_come_too_late() -> None:
    one = guarded()
    believed(one, "ann")
    one.begin_audits()
    audit = lease(one, "peer", 30.0)
    one.drop_audits()
    assert one.audits == 0
    assert isinstance(one.returned("peer", audit.lease, 31.0)[0], RefuseResult)
    assert one.begin_audits() == 1


def test_a_result_that_is_looked_at_while_another_one_is_refuted_does_not_count() -> None:
    one = guarded()
    lie = lease(one, "ann", 10.0, chance=0.95)
    other = lease(one, "ann", 10.0, chance=0.5)
    (judge,) = one.returned("ann", other.lease, 11.0)
    one.returned("ann", lie.lease, 11.5)
    check = lease(one, "peer", 12.0)
    one.returned("peer", check.lease, 13.0)
    assert only(one.judged(lie.unit, {lie.lease: INVALID, check.lease: VALID}), Assimilate)
    assert isinstance(judge, Judge)
    assert not only(one.judged(other.unit, {other.lease: VALID}), Assimilate)


def test_without_room_results_are_repeated_unless_somebody_audited_makes_room() -> None:
    one = guarded(units=8, most=1)
    believed(one, "ann")
    confirmed(one, "bob", 20.0)
    # All of bob's results are repeated, though he is as well known as ann.
    confirmed(one, "bob", 30.0)
    one.begin_audits()
    audit = lease(one, "peer", 40.0)
    one.returned("peer", audit.lease, 41.0)
    one.judged(audit.unit, {audit.lease: VALID})
    _, effects = believed(one, "bob", 50.0)
    assert only(effects, KeepResults) == [KeepResults("ann")]


def test_a_task_without_trusted_peers_has_no_provisional_results() -> None:
    with pytest.raises(ValueError, match="no trusted peer"):
        TrustRules(provisional=5)
