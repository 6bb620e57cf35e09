"""Clients that are slow, leave, decline or come back: how long a masked round waits, and for whom."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backend.errors import NotMaskedError, NotSelectedError, StaleRoundError
from backend.protocols.rounds.phases import RETURN_SECONDS
from backend.protocols.secagg import member_events, server_effects
from backend.protocols.secagg.client_slots import ShareGraph
from backend.protocols.secagg.masked_groups import MaskedGroups
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_stages import ANSWER_SECONDS, EXCHANGE_SECONDS, ServerStage
from backend.protocols.secagg.terms import Degree
from backend.wire.masked_messages import Decline, Reveal, Roster, Server
from tests.support.protocols.secagg.member_host import terms_of
from tests.support.protocols.secagg.stages import (
    FIRST,
    FIVE,
    OTHERS,
    STAGES,
    at_input,
    at_keys,
    at_shares,
    at_survivors,
    at_unmask,
    failed,
    state,
)
from tests.support.protocols.secagg.world import SECONDS, World


def test_each_stage_waits_no_longer_than_it_may() -> None:
    world = at_keys()
    assert world.masks.timer() == min(EXCHANGE_SECONDS, SECONDS / 4)
    assert at_shares().masks.timer() == min(EXCHANGE_SECONDS, SECONDS / 4)
    assert at_input().masks.timer() is None
    assert at_survivors().masks.timer() == ANSWER_SECONDS
    assert at_unmask().masks.timer() == ANSWER_SECONDS


def test_a_long_round_gives_keys_twenty_seconds() -> None:
    world = at_keys()
    masks = MaskedRound(terms_of(world.train, 5), FIVE, 600.0, 7.0)
    assert masks.timer() == 27.0


def test_no_stage_is_over_before_those_who_lost_their_connection_could_come_back() -> None:
    world = at_keys()
    masks = MaskedRound(terms_of(world.train, 5), FIVE, 600.0, 7.0, grace=60.0)
    assert masks.timer() == 67.0


def test_nobody_waits_long_for_clients_whose_connection_broke() -> None:
    world = at_keys()
    for client in OTHERS:
        world.work(client)
        world.arrive(client)
    world.now = 1.0
    world.hang_up(FIRST)
    assert world.masks.timer() == 1.0 + RETURN_SECONDS
    world.come_back(FIRST)
    assert world.masks.timer() == SECONDS / 4


def test_a_client_that_left_for_good_is_not_waited_for_and_not_in_the_roster() -> None:
    world = at_keys()
    for client in FIVE:
        world.work(client)
    world.arrive(FIRST)
    world.hang_up(FIRST, lost=False)
    world.settle()
    assert [member.client for member in world.masks.graph.members] == OTHERS
    assert not world.excluded


def test_who_shared_and_left_for_good_shares_no_mask() -> None:
    world = at_shares()
    for client in FIVE:
        world.tell(client)
        world.work(client)
    world.arrive(FIRST)
    world.hang_up(FIRST, lost=False)
    world.settle()
    assert sorted(world.masks.graph.pairs) == [1, 2, 3, 4]
    world.end_inputs()
    world.settle()
    world.check()
    assert world.outcome == "done"


@pytest.mark.parametrize(
    "stage", [ServerStage.ADVERTISE_KEYS, ServerStage.SHARE_KEYS, ServerStage.MASKED_INPUT]
)
def test_nobody_waits_for_a_client_that_declines(stage: ServerStage) -> None:
    world = STAGES[stage]() if stage is not ServerStage.MASKED_INPUT else at_input(uploaded=0)
    world.perform(world.masks.declined(FIRST, Decline(round=1, spent=False), 0.0))
    world.holders[FIRST].handle(member_events.HostFailed(1, "no memory"))
    for _ in ServerStage:
        world.settle()
    world.end_inputs()
    world.settle()
    # No time has passed.
    assert (world.outcome, world.now) == ("done", 0.0)
    assert list(world.excluded) == [FIRST]
    assert isinstance(world.masks.may_offer(FIRST), StaleRoundError)
    assert sorted(world.taken) == OTHERS
    world.check()


@pytest.mark.parametrize(
    ("resumed", "declining", "believed"), [(False, 7, False), (True, 3, False), (True, 4, True)]
)
def test_a_majority_may_know_of_reveals_that_a_server_forgot(
    resumed: bool, declining: int, believed: bool
) -> None:
    clients = [f"{number:016x}" for number in range(7)]
    masks = MaskedGroups(terms_of(at_keys().train, 4), [clients], 60.0, 0.0, resumed=resumed)
    for client in clients[:declining]:
        (excluded, *_) = masks.frame_arrived(client, Decline(round=1, spent=True), 0.0)
        assert isinstance(excluded, server_effects.Exclude)
        assert excluded.awaits_version
        # It says so once, however often it says it.
        assert masks.frame_arrived(client, Decline(round=1, spent=True), 0.0) == []
    assert (masks.spent_reason() is not None) is believed


@pytest.mark.parametrize("stage", [ServerStage.CONSISTENCY_CHECK, ServerStage.UNMASK])
def test_an_update_that_counts_stays_in_the_sum_when_its_client_declines(stage: ServerStage) -> None:
    world = STAGES[stage]()
    world.perform(world.masks.declined(FIRST, Decline(round=1, spent=False), 0.0))
    world.holders[FIRST].hears(Roster(round=1, members=[]))
    world.settle()
    assert (world.outcome, world.now) == ("done", 0.0)
    assert sorted(world.taken) == FIVE
    assert not world.excluded
    assert not world.distrusted
    world.check()


def test_where_too_many_decline_nobody_waits_to_fail() -> None:
    world = at_unmask()
    for client in FIVE[:2]:
        world.perform(world.masks.declined(client, Decline(round=1, spent=False), 0.0))
        world.holders[client].hears(Roster(round=1, members=[]))
    world.settle()
    assert (world.outcome, world.now) == ("failed", 0.0)
    world.check()


@pytest.mark.parametrize("stage", [ServerStage.DONE, ServerStage.FAILED])
def test_to_decline_what_is_over_or_was_declined_changes_nothing(stage: ServerStage) -> None:
    worlds = [STAGES[stage](), at_shares()]
    worlds[1].perform(worlds[1].masks.declined(FIRST, Decline(round=1, spent=False), 0.0))
    for world in worlds:
        before = state(world.masks)
        assert world.masks.declined(FIRST, Decline(round=1, spent=False), 0.0) == []
        assert state(world.masks) == before


@pytest.mark.parametrize("server", ["honest", "active"])
def test_a_client_that_comes_back_is_told_what_it_missed(server: Server) -> None:
    reach: dict[ServerStage, Callable[[], World]] = {
        ServerStage.SHARE_KEYS: lambda: at_shares(server),
        ServerStage.MASKED_INPUT: lambda: at_input(server, 0),
        ServerStage.CONSISTENCY_CHECK: at_survivors,
        ServerStage.UNMASK: lambda: at_unmask(server),
    }
    for stage, at_stage in reach.items():
        if stage is ServerStage.CONSISTENCY_CHECK and server == "honest":
            continue
        world = at_stage()
        world.hang_up(FIRST)
        world.come_back(FIRST)
        world.settle()
        world.end_inputs()
        world.settle()
        assert FIRST in world.taken
        assert world.outcome == "done"
        assert not world.excluded
        world.check()


def test_an_offer_is_taken_from_those_alone_whose_shares_came() -> None:
    masks = at_keys().masks
    assert isinstance(masks.may_offer("nobody"), NotSelectedError)
    assert isinstance(masks.may_offer(FIRST), NotMaskedError)
    assert isinstance(at_shares().masks.may_offer(FIRST), NotMaskedError)
    assert at_input(uploaded=0).masks.may_offer(FIRST) is None
    assert isinstance(at_unmask().masks.may_offer(FIRST), StaleRoundError)
    assert isinstance(failed().masks.may_offer(FIRST), StaleRoundError)


def test_a_volunteer_that_wants_more_company_than_there_is_stays_out() -> None:
    world = at_keys(minima=(6,))
    world.settle()
    assert list(world.excluded) == [FIRST]
    assert [member.client for member in world.masks.graph.members] == OTHERS
    world = at_keys(minima=(5, 5, 5, 5, 6))
    world.settle()
    assert world.outcome == "failed"
    # The round is over for all: nobody is left out of it alone.
    assert world.failed == "5 clients sent keys, fewer than they require."
    assert not world.excluded


def test_who_stays_out_may_leave_too_little_company_for_others() -> None:
    neighbours = [[other for other in range(7) if other != place] for place in range(7)]
    graph = ShareGraph(degree=Degree(neighbours=6, threshold=5), neighbours=neighbours)
    # The first wants more than there are, and without it the second does, too.
    minima = {0: 8, 1: 7, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0}
    assert graph.largest_recoverable(minima) == {2, 3, 4, 5, 6}
    # Four could not recover a secret.
    assert graph.largest_recoverable({**minima, 2: 6}) == set()


def test_too_few_updates_fail_closed() -> None:
    world = at_input(uploaded=3)
    world.end_inputs()
    assert world.outcome == "failed"
    world.settle()
    world.check()
    assert not any(holder.gave for holder in world.holders.values())


def test_recovered_shares_stay_out_of_what_is_printed() -> None:
    world = at_unmask()
    for client in FIVE[:3]:
        world.tell(client)
        world.work(client)
        world.arrive(client)
    world.tell(FIVE[3])
    world.work(FIVE[3])
    frame = world.lines[FIVE[3]].up.popleft()
    assert isinstance(frame, Reveal)
    (effect,) = world.masks.reveal_arrived(FIVE[3], frame, 0.0)
    assert isinstance(effect, server_effects.Recover)
    assert repr(frame.shares[0])[2:-1] not in repr(effect)
    assert "alive=5" in repr(effect)
