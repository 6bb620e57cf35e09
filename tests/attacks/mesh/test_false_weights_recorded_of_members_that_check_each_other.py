"""Gain: false weights in the record of a mesh whose members check each other, by fewer than half of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backend.wire.mesh_messages import Deposit, Group
from backend.wire.messages import Train
from tests.support.attacks.mesh_peers import bring, connected, vector
from tests.support.tasks.tiny_task import write_byzantine
from tests.support.web.server_process import running

HONEST, LIE = vector(1.0), vector(-9.0)
FIVE: dict[str, Any] = {"averaging": "{ patience = 0.5 }", "min_available_clients": 5, "deadline": 60}


@pytest.mark.parametrize("named", ["liars", "all"])
async def test_who_reports_first_does_not_decide(tmp_path: Path, named: str) -> None:
    write_byzantine(tmp_path / "tasks" / "tiny", **FIVE)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with connected(server, count=5) as peers:
            for peer in peers:
                await peer.trained(await peer.next(Train), examples=12, steps=3)
            groups = [await peer.next(Group) for peer in peers]
            places = {client: place for place, client in enumerate(groups[0].members)}
            liars, true = peers[:2], peers[2:]
            survivors = [places[liar.id] for liar in liars] if named == "liars" else list(range(5))
            for liar in liars:
                await liar.averaged(groups[0], LIE, survivors)
            # A group with a result ends after 0.5 seconds of patience; then the server asks for the weights.
            with pytest.raises(TimeoutError):
                await liars[0].next(Deposit, patience=2.0)
            for peer in true:
                await peer.averaged(groups[0], HONEST, range(5))
            version = await bring(true, HONEST)
    assert (version.version, version.accepted) == (1, 3)
