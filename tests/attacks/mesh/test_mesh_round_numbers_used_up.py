"""Gain: all round numbers of a mesh, used up by a survivor that lies about them while the server is away."""

from __future__ import annotations

import msgspec
import pytest

from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.wire.peer_messages import SetOut, Unattended
from tests.contract.vectors.mesh.make_mesh_member import ONE, SECOND, THREE, TWO
from tests.contract.vectors.mesh.make_serverless import BEGUN

Events = list[serverless_events.Event]
MILLION = 1_000_000


def calling(own: str, can_lead: bool) -> ServerlessRounds:
    """Returns a survivor of round 1 that has lost its server, and calls after its patience."""
    machine = ServerlessRounds(own, can_lead)
    for now, event in BEGUN:
        machine.happened(msgspec.convert(event, serverless_events.Event), now)
    machine.happened(serverless_events.ServerLost(False), 10.0)
    machine.happened(serverless_events.ServerlessTimePassed(), 15.0)
    return machine


def rounds(effects: list[serverless_events.Effect]) -> list[int]:
    """Returns the rounds that the effects begin."""
    return [one.frame.round for one in effects if isinstance(one, serverless_events.Agree)]


@pytest.mark.parametrize("number", [1_000, MILLION])
def test_no_peer_follows_a_leader_into_a_round_that_is_far_ahead(number: int) -> None:
    machine = calling(TWO, can_lead=False)
    leader = SetOut(round=number, weights=SECOND, measures=None)
    assert rounds(machine.happened(serverless_events.PeerFrameReceived(ONE, leader), 16.0)) == []
    leader = SetOut(round=2, weights=SECOND, measures=None)
    assert rounds(machine.happened(serverless_events.PeerFrameReceived(ONE, leader), 16.0)) == [2]


@pytest.mark.parametrize("number", [400, MILLION // 2])
def test_no_leader_begins_a_round_after_one_that_a_liar_says_it_heard_of(number: int) -> None:
    machine = calling(ONE, can_lead=True)
    lie = Unattended(round=number, weights=SECOND, steward=False, measures=False)
    call = Unattended(round=1, weights=SECOND, steward=False, measures=False)
    begun = rounds(machine.happened(serverless_events.PeerFrameReceived(THREE, lie), 16.0))
    begun += rounds(machine.happened(serverless_events.PeerFrameReceived(TWO, call), 16.0))
    machine.happened(serverless_events.PeerFrameReceived(THREE, lie), 16.0)
    begun += rounds(machine.happened(serverless_events.ServerlessTimePassed(), 60.0))
    assert set(begun) <= {2}
    assert begun
