"""Gain: false weights in the record of a mesh whose members check each other, by fewer than half of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backend.wire.mesh_messages import Deposit, Group
from backend.wire.messages import Train
from tests.support.attacks.mesh_peers import bring, connected, vector
from tests.support.tasks.tiny_task import write_byzantine
from tests.support.web.byzantine_proofs import first_proof
from tests.support.web.server_process import running

HONEST, LIE = vector(1.0), vector(-9.0)
FIVE: dict[str, Any] = {"averaging": "{ patience = 0.5 }", "min_available_clients": 5, "deadline": 60}


@pytest.mark.parametrize("liars", [2, 4])
async def test_reports_record_nothing_and_two_signatures_of_five_prove_nothing(
    tmp_path: Path, liars: int
) -> None:
    write_byzantine(tmp_path / "tasks" / "tiny", **FIVE)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with connected(server, count=5) as peers:
            for peer in peers:
                await peer.trained(await peer.next(Train), examples=12, steps=3)
            groups = [await peer.next(Group) for peer in peers]
            # However many report the lie, only two say that the members agreed on it.
            for liar in peers[:2]:
                await liar.say(first_proof(peers, groups[0], LIE, [peers[0], peers[1], peers[0]]))
            for liar in peers[:liars]:
                await liar.averaged(groups[0], LIE, range(5))
            # A group with a result ends after 0.5 seconds of patience; then the server asks for the weights.
            with pytest.raises(TimeoutError):
                await peers[0].next(Deposit, patience=2.0)
            await peers[4].say(first_proof(peers, groups[0], HONEST, peers[2:]))
            for peer in peers[liars:]:
                await peer.averaged(groups[0], HONEST, range(5))
            version = await bring(peers[liars:], HONEST)
    assert (version.version, version.accepted) == (1, 5 - liars)
