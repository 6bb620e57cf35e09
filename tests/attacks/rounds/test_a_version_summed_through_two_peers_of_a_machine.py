"""A lying server has a device reveal twice for a version, through two peers that share a folder.

It opens two rounds of the version at once: when either peer looks, nothing is spent yet. Both train on the
same examples, so the machine is in two sums.
"""

from __future__ import annotations

import asyncio
from io import StringIO
from pathlib import Path

from backend.wire.client_id import client_id
from tests.support.attacks.lying_rounds_server import lying_server, new_token
from tests.support.attacks.training_peers import training_peer

PARAMETERS, MEMBERS = 40, 4


async def test_peers_of_a_folder_reveal_for_a_version_in_one_round(tmp_path: Path) -> None:
    tokens, said, stop = [new_token() for _ in range(2 * MEMBERS)], StringIO(), asyncio.Event()
    one, other = tokens[:MEMBERS], tokens[MEMBERS:]
    # The first peers of both rounds are of one machine.
    folders = {token: tmp_path / token for token in tokens}
    folders[one[0]] = folders[other[0]] = tmp_path / "machine"
    async with lying_server(PARAMETERS) as server:
        running = [
            asyncio.create_task(training_peer(server.address, token, PARAMETERS, folder, said).run(stop))
            for token, folder in folders.items()
        ]
        await server.arrived(len(tokens))
        await asyncio.gather(
            server.sum_of([client_id(token) for token in one], 1, 0),
            server.sum_of([client_id(token) for token in other], 2, 0),
        )
        await server.a_decline()
        stop.set()
        await asyncio.gather(*running)
    twice = {client_id(one[0]), client_id(other[0])}
    assert twice & {client for clients in server.declined.values() for client in clients}
    assert "Another peer of this machine revealed shares for version 0" in said.getvalue()


async def test_peers_of_a_folder_in_one_round_lose_nothing(tmp_path: Path) -> None:
    tokens, said, stop = [new_token() for _ in range(MEMBERS)], StringIO(), asyncio.Event()
    async with lying_server(PARAMETERS) as server:
        running = [
            asyncio.create_task(training_peer(server.address, token, PARAMETERS, tmp_path, said).run(stop))
            for token in tokens
        ]
        await server.arrived(MEMBERS)
        assert await server.sum_of(server.volunteers, 1, 0) is not None
        stop.set()
        await asyncio.gather(*running)
    assert not server.declined
