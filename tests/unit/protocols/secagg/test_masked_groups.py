"""The groups of a masked round: each is a masked round of its own, and some may be lost."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import NotMaskedError, NotSelectedError
from backend.protocols.rounds.phases import IllegalEventError
from backend.protocols.secagg.masked_groups import MaskedGroups
from backend.protocols.secagg.server_effects import Effect, FailMaskedRound
from backend.wire.masked_messages import Decline, Keys, Roster, Server, Shares, Unmask
from tests.support.protocols.secagg.group_world import GroupWorld
from tests.support.protocols.secagg.world import masking

CLIENTS, GROUPS = 12, 3


def world(least: int = 2, server: Server = "honest") -> GroupWorld:
    return GroupWorld(CLIENTS, GROUPS, masking(server), least)


def at_input() -> GroupWorld:
    found = world()
    found.settle()
    assert len(found.taken) == CLIENTS
    return found


@pytest.mark.parametrize("server", ["honest", "active"])
def test_the_server_learns_the_sum_of_each_group_and_no_other(server: Server) -> None:
    found = world(server=server)
    found.settle()
    found.end_inputs()
    found.settle()
    assert found.used
    assert not found.lost
    for group in range(GROUPS):
        assert np.array_equal(found.sums[group], found.plain(group))


def test_a_member_meets_its_group_alone() -> None:
    found = world()
    rosters = dict[str, list[str]]()
    for client, holder in found.holders.items():
        holder.work()
        found.work(client)
        while found.lines[client].up:
            found.arrive(client)
    for client, line in found.lines.items():
        (roster,) = (frame for frame in line.down if isinstance(frame, Roster))
        rosters[client] = [member.client for member in roster.members]
    for group in found.grouped.groups:
        assert all(rosters[client] == list(group) for client in group)


def test_a_group_whose_keys_come_from_too_few_is_lost_and_its_members_told() -> None:
    found = world()
    silent = found.grouped.groups[1][:2]
    for client in silent:
        found.hang_up(client, lost=False)
    found.settle()
    found.wait()
    assert [(one.group, one.clients) for one in found.lost] == [(1, found.grouped.groups[1])]
    assert found.lost[0].reason == "2 of at least 3 clients sent keys."
    assert found.grouped.left == (found.grouped.groups[0], found.grouped.groups[2])
    told = set(found.grouped.groups[1]) - set(silent)
    assert set(found.excluded) == told
    assert all(isinstance(error, NotMaskedError) for error in found.excluded.values())
    assert all(isinstance(found.grouped.may_offer(client), NotMaskedError) for client in told)
    found.end_inputs()
    found.settle()
    assert found.used
    assert sorted(found.sums) == [0, 2]


@pytest.mark.parametrize("sent", [Keys, Shares])
def test_the_round_waits_for_no_member_of_a_group_that_is_lost(sent: type[Keys | Shares]) -> None:
    """Members that may come back are dismissed too, or the round would wait for them until its deadline."""
    found = world()
    group = found.grouped.groups[1]
    if sent is Shares:
        for client in found.holders:
            found.work(client)
        for client in found.holders:
            while found.lines[client].up:
                found.arrive(client)
    for client in group[:2]:
        found.hang_up(client, lost=True)
    found.settle()
    found.wait()
    assert [one.group for one in found.lost] == [1]
    assert set(found.excluded) == set(group)


def test_a_round_with_too_few_groups_left_fails_with_the_numbers() -> None:
    found = world(least=2)
    for group in found.grouped.groups[1:]:
        for client in group[:2]:
            found.hang_up(client, lost=False)
    found.settle()
    found.wait()
    assert found.failed is not None
    assert found.failed.startswith("1 of 3 masked groups are left, and the rule needs at least 2.")
    assert found.grouped.timer() is None
    assert (found.used, found.sums) == (False, {})


def test_a_round_that_cannot_succeed_fails_before_anybody_is_asked_for_shares() -> None:
    """Else each would have revealed for this version, and the next round would have to wait for another."""
    found = world(least=3)
    found.withheld = set(found.grouped.groups[2][:2])
    found.settle()
    found.end_inputs()
    assert found.failed == (
        "2 of 3 masked groups are left, and the rule needs at least 3. 2 of at least 3 masked updates came."
    )
    asked = [frame for line in found.lines.values() for frame in line.down if isinstance(frame, Unmask)]
    assert (asked, found.grouped.spent_reason()) == ([], None)


def test_a_group_that_still_exchanges_keys_when_inputs_end_is_lost() -> None:
    found = world()
    slow = found.grouped.groups[1][0]
    for client in found.holders:
        if client != slow:
            found.work(client)
    for client, line in found.lines.items():
        while client != slow and line.up:
            found.arrive(client)
    found.end_inputs()
    assert found.failed is not None
    assert "Keys and shares were not exchanged in time." in found.failed


def test_a_sum_that_means_nothing_loses_its_group_only() -> None:
    found = at_input()
    found.nonsense = {0}
    found.end_inputs()
    found.settle()
    assert [(one.group, one.reason) for one in found.lost] == [(0, "Its sum means nothing.")]
    assert (found.used, sorted(found.sums)) == (True, [1, 2])


def test_members_who_do_not_reveal_lose_their_group_when_time_is_up() -> None:
    found = at_input()
    found.end_inputs()
    for client in found.grouped.groups[0][:2]:
        found.hang_up(client)
    found.settle()
    assert not found.used
    found.wait()
    assert [one.group for one in found.lost] == [0]
    assert "revealed their shares" in found.lost[0].reason
    assert (found.used, sorted(found.sums)) == (True, [1, 2])
    assert found.grouped.spent_reason() == "clients were asked to reveal shares"


@pytest.mark.parametrize("resumed", [False, True])
def test_declines_of_one_group_do_not_speak_for_the_cohort(resumed: bool) -> None:
    """Of a group of four, three liars are a majority; of the cohort of twelve they are not."""
    found = world(least=1)
    groups, terms = found.grouped.groups, found.grouped.terms
    masks = MaskedGroups(terms, groups, 60.0, 0.0, resumed=resumed)
    for number, client in enumerate((*groups[0], *groups[1]), start=1):
        masks.frame_arrived(client, Decline(round=1, spent=True), 0.0)
        assert (masks.spent_reason() is not None) is (resumed and number > 6)


@pytest.mark.parametrize("spent", [4, 5])
def test_a_resumed_round_hears_all_declines_before_it_fails(spent: int) -> None:
    """Else those of the first group would be a minority, and all would wait for a version in vain."""
    found = GroupWorld(9, 3, masking("honest"), least=3)
    groups, terms = found.grouped.groups, found.grouped.terms
    masks = MaskedGroups(terms, groups, 60.0, 0.0, least=3, resumed=True)
    clients, effects = [client for group in groups for client in group], list[Effect]()
    for number, client in enumerate(clients):
        assert not any(isinstance(one, FailMaskedRound) for one in effects)
        effects += masks.frame_arrived(client, Decline(round=1, spent=number < spent), 0.0)
    (failed,) = (one for one in effects if isinstance(one, FailMaskedRound))
    assert failed.reason.startswith("0 of 3 masked groups are left, and the rule needs at least 3.")
    reason = "5 of 9 clients said that they had revealed shares to an earlier server"
    assert masks.spent_reason() == (reason if spent == 5 else None)


def test_frames_of_strangers_change_nothing() -> None:
    found = world()
    assert found.grouped.frame_arrived("stranger", Decline(round=1, spent=True), 0.0) == []
    assert found.grouped.client_left("stranger", 0.0, lost=True) == []
    assert found.grouped.client_ready("stranger") == []
    assert isinstance(found.grouped.may_offer("stranger"), NotSelectedError)
    with pytest.raises(IllegalEventError):
        found.grouped.input_accepted("stranger")
