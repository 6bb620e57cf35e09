"""Gain: one stranger shuts all others out of a mesh, by a state that it makes up and tells the server."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from backend.crypto.client_keys import identity_key
from backend.protocols.mesh.byzantine.adoption import encode_state, told_state
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.wire.byzantine_messages import TellState
from backend.wire.mesh_messages import Group
from backend.wire.messages import Train
from tests.support.attacks.mesh_peers import bring, connected, vector
from tests.support.tasks.tiny_task import write_byzantine
from tests.support.web.byzantine_proofs import first_proof
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.server_process import running

TRUE = vector(1.0)
THREE: dict[str, Any] = {"averaging": "{ patience = 0.5 }", "min_available_clients": 3, "deadline": 60}


async def test_a_stranger_bans_nobody_however_far_ahead_its_state_is(tmp_path: Path) -> None:
    write_byzantine(tmp_path / "tasks" / "tiny", **THREE)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with connected(server, count=3) as peers:
            for peer in peers:
                await peer.trained(await peer.next(Train), examples=12, steps=3)
            groups = [await peer.next(Group) for peer in peers]
            true = first_proof(peers, groups[0], TRUE, peers)
            key = secrets.token_bytes(32)
            async with MeshPeer(server.url, private=key) as stranger:
                await stranger.say(_made_up(true, stranger, peers))
                await peers[0].say(true)
                await stranger.say(_made_up(true, stranger, peers))
                for peer in peers:
                    await peer.averaged(groups[0], TRUE, range(3))
                version = await bring(peers, TRUE)
            assert version.version == 1
        # All can enter again.
        async with connected(server, count=3):
            pass
        for peer in peers:
            async with MeshPeer(server.url, private=peer.private):
                pass


def _made_up(true: TellState, stranger: MeshPeer, others: list[MeshPeer]) -> TellState:
    state = told_state(true)
    assert state is not None
    seats = (SeatedMember(stranger.id, identity_key(stranger.private)),)
    banned = tuple(sorted(identity_key(peer.private) for peer in others))
    made_up = replace(state, round=1_000_000, membership=MeshMembership(seats, (), banned))
    return replace(true, state=encode_state(made_up), verdicts=[])
