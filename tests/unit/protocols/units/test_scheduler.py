"""Conversations with the scheduler: each way that a unit and its leases can go."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from backend.protocols.units.rules import Rules, TrustRules, Verdict
from backend.protocols.units.scheduler_effects import (
    Abort,
    Assimilate,
    CreditClient,
    DistrustClient,
    EpochClosed,
    GivenUp,
    Judge,
    LeaseRenewed,
    RefuseResult,
    Wait,
)
from tests.support.protocols.unit_conversations import (
    INVALID,
    UNDECIDED,
    VALID,
    begun,
    both,
    done,
    lease,
    only,
    proven,
    works,
)

ALONE = {"replicas": 1}


def test_a_valid_result_is_blended_and_credited_and_the_epoch_closes_with_the_last() -> None:
    one = begun(1, "ann", **ALONE)
    grant = lease(one, "ann", now=3.0)
    assert (grant.unit, grant.shard, grant.base, grant.seed, grant.deadline) == (0, 0, 5, 0, 103.0)
    assert one.returned("ann", grant.lease, 9.0) == [Judge(0, (grant.lease,), None)]
    assert one.judged(0, {grant.lease: VALID}) == [
        CreditClient("ann", grant.lease, 100),
        Assimilate(0, grant.lease, "ann", 5),
        EpochClosed(1, 1, 0),
    ]
    assert one.ask("ann", 6, 0.5, 10.0) == [Wait("ann", "over")]


def test_a_result_is_late_after_its_lease_but_not_after_a_heartbeat_or_the_end_of_the_training() -> None:
    one = begun(3, "ann", "bob", "cat", **ALONE)
    late, extended, dropped = (lease(one, name) for name in ("ann", "bob", "cat"))
    one.heartbeat("bob", extended.lease, 90.0, 3)
    one.drop(dropped.unit)
    one.time_passed(110.0)
    for grant in (late, extended, dropped):
        one.returned(grant.client, grant.lease, 111.0)
    assert [one.came_late(grant.lease) for grant in (late, extended, dropped)] == [True, False, False]


def test_newcomers_are_replicated_from_the_same_base_with_the_same_seed() -> None:
    one = begun(1, "ann", "bob")
    first = lease(one, "ann", base=5)
    # The second begins when the first result is here, so that they cannot agree on one before.
    assert one.ask("bob", 6, 0.5, 0.5) == [Wait("bob", "nothing")]
    assert one.returned("ann", first.lease, 1.0) == []
    second = lease(one, "bob", 1.0, base=6)
    assert (first.unit, first.base, first.seed) == (second.unit, second.base, second.seed)
    assert one.returned("bob", second.lease, 2.0) == [Judge(0, (first.lease, second.lease), None)]
    effects = one.judged(0, {first.lease: VALID, second.lease: VALID})
    assert [effect.client for effect in only(effects, CreditClient)] == ["ann", "bob"]
    assert only(effects, Assimilate) == [Assimilate(0, first.lease, "ann", 5)]


def test_nobody_compares_with_themselves() -> None:
    one = begun(1, "ann")
    lease(one, "ann")
    assert one.ask("ann", 5, 0.5, 0.0) == [Wait("ann", "nothing")]


def test_who_sends_what_is_no_update_is_distrusted_and_what_the_other_did_counts() -> None:
    one = begun(1, "ann", "eve")
    first, second = both(one, "ann", "eve")
    effects = one.judged(0, {first.lease: VALID, second.lease: Verdict.FAULTY})
    assert only(effects, DistrustClient) == [DistrustClient("eve", second.lease)]
    assert only(effects, Assimilate) == [Assimilate(0, first.lease, "ann", 5)]


def test_results_that_disagree_take_one_more() -> None:
    one = begun(1, "ann", "bob")
    first, second = both(one, "ann", "bob")
    one.client_connected("cat", 1)
    assert one.judged(0, {first.lease: UNDECIDED, second.lease: UNDECIDED}) == []
    third = lease(one, "cat", 2.0)
    assert one.returned("cat", third.lease, 3.0) == [Judge(0, (first.lease, second.lease, third.lease), None)]
    effects = one.judged(0, {first.lease: VALID, second.lease: INVALID, third.lease: VALID})
    assert len(only(effects, Assimilate)) == 1
    assert len(only(effects, EpochClosed)) == 1


def test_one_that_is_in_doubt_alone_is_replicated() -> None:
    one = begun(4, "ann", "bob", trust=TrustRules(proven=1))
    proven(one, "ann", "bob")
    first = lease(one, "ann", chance=0.9)
    assert one.returned("ann", first.lease, 2.0) == [Judge(first.unit, (first.lease,), None)]
    assert one.judged(first.unit, {first.lease: UNDECIDED}) == []
    second = lease(one, "bob", chance=0.9)
    assert one.returned("bob", second.lease, 3.0) == [Judge(first.unit, (first.lease, second.lease), None)]


def test_trust_grows_by_compared_results_and_is_spot_checked() -> None:
    one = begun(4, "ann", "bob", trust=TrustRules(proven=2))
    for _ in range(2):
        first, second = both(one, "ann", "bob")
        one.judged(first.unit, {first.lease: VALID, second.lease: VALID})
    checked = lease(one, "ann", chance=0.9)
    assert one.returned("ann", checked.lease, 3.0) == []
    assert lease(one, "bob").unit == checked.unit
    assert one.client("ann").trust.streak == 2


def test_an_expired_lease_goes_to_somebody_else_first() -> None:
    one = begun(3, "ann", "bob", **ALONE)
    grant = lease(one, "ann")
    assert one.timer() == 100.0
    assert one.time_passed(99.0) == []
    assert one.time_passed(100.0) == []
    assert lease(one, "bob", now=100.0).unit == grant.unit
    # Whoever had it does something else.
    assert lease(one, "ann", now=100.0).unit != grant.unit


def test_a_heartbeat_renews_a_lease_but_not_for_ever() -> None:
    one = begun(1, "ann", **ALONE)
    grant = lease(one, "ann")
    assert grant.heartbeat == pytest.approx(100 / 3)
    for now in range(50, 1000, 50):
        assert one.heartbeat("ann", grant.lease, float(now), steps=now) == [
            LeaseRenewed("ann", grant.lease, min(1000.0, now + 100.0))
        ]
        assert one.time_passed(float(now)) == []
    one.time_passed(1000.0)
    assert one.heartbeat("ann", grant.lease, 1001.0, steps=1001) == []
    one.client_connected("bob", 1)
    lease(one, "bob", 1001.0)


def test_a_device_that_hangs_does_not_keep_its_units_by_heartbeats() -> None:
    one = begun(2, "ann", "bob", **ALONE)
    one.set_slots("ann", 2)
    first, second = lease(one, "ann"), lease(one, "ann")
    assert one.heartbeat("ann", first.lease, 40.0, steps=3) == [LeaseRenewed("ann", first.lease, 140.0)]
    # The second waits for the first, whose steps show that the device works.
    assert one.heartbeat("ann", second.lease, 50.0, steps=0) == [LeaseRenewed("ann", second.lease, 140.0)]
    for now in (90.0, 139.0):
        assert one.heartbeat("ann", first.lease, now, steps=3) == [LeaseRenewed("ann", first.lease, 140.0)]
    one.time_passed(140.0)
    assert one.heartbeat("ann", first.lease, 141.0, steps=3) == []
    assert lease(one, "bob", now=141.0).unit == first.unit


def test_a_result_on_its_way_is_a_sign_of_work() -> None:
    one = begun(1, "ann", **ALONE)
    grant = lease(one, "ann")
    for now in (90.0, 180.0):
        renewed = [LeaseRenewed("ann", grant.lease, now + 100.0)]
        assert one.heartbeat("ann", grant.lease, now, steps=0, sending=True) == renewed
        assert one.time_passed(now) == []


def test_who_was_silent_too_long_goes_on_where_nobody_took_its_place() -> None:
    one = begun(1, "ann", "bob", **ALONE)
    grant = lease(one, "ann")
    one.time_passed(100.0)
    assert one.heartbeat("ann", grant.lease, 120.0, steps=1) == [LeaseRenewed("ann", grant.lease, 220.0)]
    assert one.ask("bob", 5, 0.5, 121.0) == [Wait("bob", "nothing")]
    assert one.timer() is not None
    one.time_passed(220.0)
    assert lease(one, "bob", 221.0).unit == grant.unit


def test_a_late_result_counts_where_it_is_the_first() -> None:
    one = begun(1, "ann", "bob", **ALONE)
    late = lease(one, "ann")
    one.time_passed(100.0)
    taken = lease(one, "bob", 100.0)
    assert one.returned("ann", late.lease, 150.0) == [Judge(0, (late.lease,), None)]
    effects = one.judged(0, {late.lease: VALID})
    assert only(effects, Abort) == [Abort("bob", taken.lease)]
    assert only(effects, Assimilate) == [Assimilate(0, late.lease, "ann", 5)]


def test_a_late_result_of_a_unit_that_is_done_is_compared_and_credited_but_not_blended_again() -> None:
    one = begun(2, "ann", "bob", **ALONE)
    late = lease(one, "ann")
    one.time_passed(100.0)
    taken = lease(one, "bob", 100.0)
    one.returned("bob", taken.lease, 101.0)
    one.judged(0, {taken.lease: VALID})
    assert one.heartbeat("ann", late.lease, 102.0, steps=1) == [Abort("ann", late.lease)]
    assert one.returned("ann", late.lease, 150.0) == [Judge(0, (late.lease,), taken.lease)]
    assert one.judged(0, {late.lease: VALID}) == [CreditClient("ann", late.lease, 100)]


def test_what_stays_in_doubt_of_a_late_result_is_not_asked_again() -> None:
    one = begun(2, "ann", "bob", "cat", **ALONE)
    late, later = lease(one, "ann"), None
    one.time_passed(100.0)
    later = lease(one, "bob", 100.0)
    one.time_passed(200.0)
    taken = lease(one, "cat", 200.0)
    one.returned("cat", taken.lease, 201.0)
    one.judged(0, {taken.lease: VALID})
    assert one.returned("ann", late.lease, 202.0) == [Judge(0, (late.lease,), taken.lease)]
    assert one.judged(0, {late.lease: UNDECIDED}) == []
    assert one.returned("bob", later.lease, 203.0) == [Judge(0, (later.lease,), taken.lease)]


def test_released_work_goes_to_somebody_else_from_the_newest_base() -> None:
    one = begun(1, "ann", "bob", **ALONE)
    grant = lease(one, "ann", base=5)
    assert one.released("ann", grant.lease) == []
    assert isinstance(one.released("ann", grant.lease)[0], RefuseResult)
    again = lease(one, "bob", base=9)
    assert (again.unit, again.base) == (grant.unit, 9)


def test_a_unit_that_nobody_does_validly_is_given_up() -> None:
    one = begun(2, "ann", "bob", most_leases=2, **ALONE)
    one.client_connected("cat", 1)
    assert done(one, "cat").unit == 0
    for client, now in (("ann", 10.0), ("bob", 110.0)):
        lease(one, client, now)
        effects = one.time_passed(now + 100.0)
    assert effects == [GivenUp(1), EpochClosed(1, 1, 1)]


def test_clients_do_as_many_units_at_once_as_they_have_slots() -> None:
    one = begun(9, **ALONE)
    one.client_connected("ann", slots=2)
    held = [lease(one, "ann"), lease(one, "ann")]
    assert one.ask("ann", 5, 0.5, 0.0) == [Wait("ann", "slots")]
    one.returned("ann", held[0].lease, 1.0)
    lease(one, "ann", 1.0)


def test_a_shard_goes_where_it_is_already() -> None:
    one = begun(50, "ann", **ALONE)
    one.client_connected("bob", 1, shards=[33])
    grant = lease(one, "bob")
    assert (grant.shard, grant.holds_shard) == (33, True)
    assert not lease(one, "ann").holds_shard
    # In the next epoch, too.
    one.begin_epoch(works(50, first=100))
    one.returned("bob", grant.lease, 1.0)
    assert lease(one, "bob", 2.0).shard == 33


def test_a_quota_that_is_used_up_waits_for_the_next_day() -> None:
    one = begun(9, "ann", trust=TrustRules(quota=2), **ALONE)
    done(one, "ann")
    done(one, "ann")
    assert one.ask("ann", 5, 0.5, 9.0) == [Wait("ann", "quota", retry_at=86_400.0)]
    lease(one, "ann", 86_400.0)


def test_reliable_clients_are_preferred_for_the_last_units_but_not_for_ever() -> None:
    one = begun(6, "ann", "bob", last_share=0.5, trust=TrustRules(proven=1))
    proven(one, "ann", "bob")
    one.client_connected("new", 4)
    # More than half are left: everybody gets some.
    first = lease(one, "new", 2.0)
    one.released("new", first.lease)
    alone = lease(one, "ann", 2.0)
    one.returned("ann", alone.lease, 3.0)
    one.judged(alone.unit, {alone.lease: VALID})
    assert one.remaining == 3
    assert one.ask("new", 5, 0.5, 4.0) == [Wait("new", "reliable", retry_at=14.0)]
    lease(one, "ann", 4.0)
    # Whoever is reliable may be paused, or away.
    assert one.ask("new", 5, 0.5, 13.0) == [Wait("new", "reliable", retry_at=14.0)]
    second = lease(one, "new", 14.0)
    one.released("new", second.lease)
    one.client_disconnected("ann")
    one.client_disconnected("bob")
    lease(one, "new", 15.0)
    one.client_connected("ann", slots=4)
    assert one.ask("new", 5, 0.5, 16.0) == [Wait("new", "reliable", retry_at=26.0)]


def test_what_somebody_was_late_for_goes_first_to_who_was_not() -> None:
    one = begun(2, "ann", "eve", "bob", **ALONE)
    lease(one, "ann")
    lease(one, "eve")
    one.time_passed(100.0)
    assert one.ask("eve", 5, 0.5, 101.0) == [Wait("eve", "reliable", retry_at=110.0)]
    # Bob was not late, and may have both.
    first = lease(one, "bob", 102.0)
    one.released("bob", first.lease)
    # Nobody waits long for him.
    late = lease(one, "eve", 110.0)
    one.released("eve", late.lease)
    assert one.ask("eve", 5, 0.5, 111.0) == [Wait("eve", "nothing", retry_at=120.0)]


def test_the_second_result_of_a_unit_is_not_left_to_who_was_late_either() -> None:
    one = begun(2, "ann", "eve")
    late = lease(one, "eve")
    one.time_passed(late.deadline)
    one.client_connected("bob", slots=2)
    mine = lease(one, "ann", 120.0)
    assert mine.unit == late.unit
    one.returned("ann", mine.lease, 121.0)
    assert one.ask("eve", 5, 0.5, 121.0)[0] != mine
    assert lease(one, "bob", 122.0).unit == mine.unit


def test_who_was_late_waits_for_nobody_where_all_were_and_no_more_once_it_is_in_time() -> None:
    one = begun(3, "ann", "eve", "bob", **ALONE)
    lease(one, "ann")
    lease(one, "eve")
    one.time_passed(100.0)
    one.client_disconnected("bob")
    mine = lease(one, "eve", 101.0)
    one.released("eve", mine.lease)
    one.client_connected("bob", slots=4)
    assert done(one, "ann", 102.0).unit == 2
    assert lease(one, "ann", 104.0).unit == 1


def test_dropped_work_is_aborted_and_an_epoch_may_end_so() -> None:
    one = begun(2, "ann", **ALONE)
    grant = lease(one, "ann")
    assert one.drop(grant.unit) == [Abort("ann", grant.lease)]
    assert one.drop(grant.unit) == []
    assert one.drop(1 - grant.unit) == [EpochClosed(1, 0, 0)]
    # What is not needed is not compared.
    assert one.returned("ann", grant.lease, 1.0) == []


def test_a_new_epoch_drops_what_is_open_and_forgets_the_one_before_the_last() -> None:
    one = begun(1, "ann", **ALONE)
    old = lease(one, "ann")
    assert one.begin_epoch(works(1, first=10)) == [Abort("ann", old.lease), EpochClosed(1, 0, 0)]
    assert one.returned("ann", old.lease, 1.0) == []
    one.begin_epoch(works(1, first=20))
    one.begin_epoch(works(1, first=30))
    assert one.returned("ann", old.lease, 1.0) == [
        RefuseResult("ann", "You do not have this work unit; ask for another.")
    ]


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    one = begun(2, "ann", "eve", **ALONE)
    grant = lease(one, "ann")
    assert isinstance(one.ask("nobody", 5, 0.5, 0.0)[0], RefuseResult)
    for call in (partial(one.heartbeat, steps=1), one.returned):
        assert isinstance(call("eve", grant.lease, 1.0)[0], RefuseResult)
        assert isinstance(call("ann", 99, 1.0)[0], RefuseResult)
    assert isinstance(one.released("eve", grant.lease)[0], RefuseResult)
    one.returned("ann", grant.lease, 1.0)
    assert one.returned("ann", grant.lease, 2.0) == [RefuseResult("ann", "This result was already received.")]
    for unit, verdicts in ((9, {0: VALID}), (grant.unit, {}), (grant.unit, {99: VALID})):
        with pytest.raises(ValueError, match="nobody asked for a comparison"):
            one.judged(unit, verdicts)
    assert len(one.judged(grant.unit, {grant.lease: VALID})) == 2
    with pytest.raises(ValueError, match="a number of its own"):
        one.begin_epoch(works(1))
    with pytest.raises(ValueError, match="a number of its own"):
        one.begin_epoch([])
    assert one.epoch == 1


WRONG: list[dict[str, Any]] = [
    {"replicas": 0},
    {"most_leases": 1},
    {"heartbeats": 0},
    {"last_share": 2.0},
    {"bound": -1},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_rules_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"replicas <= most_leases|from 0 to 1|not negative"):
        Rules(**wrong)


def test_an_illegal_event_changes_nothing() -> None:
    one = begun(2, "ann", "bob")
    grant = lease(one, "ann")
    one.returned("ann", grant.lease, 1.0)
    before = deepcopy((dict(one.clients()), list(one.units()), one.progress.tally(), one.snapshot()))
    for effects in (
        one.ask("nobody", 5, 0.5, 2.0),
        one.heartbeat("bob", grant.lease, 2.0, steps=1),
        one.returned("ann", grant.lease, 2.0),
        one.returned("bob", grant.lease, 2.0),
        one.released("ann", grant.lease),
        one.released("bob", 99),
    ):
        assert [type(effect) for effect in effects] == [RefuseResult]
    for unit, verdicts in ((1, {grant.lease: VALID}), (9, {}), (0, {grant.lease + 1: VALID})):
        with pytest.raises(ValueError, match="nobody asked for a comparison"):
            one.judged(unit, verdicts)
    assert (dict(one.clients()), list(one.units()), one.progress.tally(), one.snapshot()) == before
