"""Gain: all threads of a peer, held by names whose name servers stay silent."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.attacks.mesh.test_requests_within_a_peers_network import victim_of
from tests.support.peer.linked_peers import Carrier, make_member, until

STRANGERS = 7


class SilentNames:
    """Names in the zone `evil.example` whose name servers answer only once the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.over = threading.Event()
        self._resolve = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._look_up)

    def _look_up(self, host: Any, *rest: Any, **more: Any) -> Any:
        if not str(host).endswith(".evil.example"):
            return self._resolve(host, *rest, **more)
        self.asked.append(host)
        self.over.wait(60.0)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


async def test_silent_names_leave_a_peer_its_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, carrier = SilentNames(monkeypatch), Carrier()
    victim = await victim_of(tmp_path, carrier)
    strangers = [
        await make_member(tmp_path, number, ("websocket",), False, carrier)
        for number in range(1, 1 + STRANGERS)
    ]
    named = [
        replace(stranger.neighbour, address=f"wss://host{number}.evil.example")
        for number, stranger in enumerate(strangers)
    ]
    try:
        victim.links.set_neighbours(named)
        victim.links.set_targets([stranger.own.client for stranger in strangers])
        await until(lambda: len(names.asked) >= 4)
        async with asyncio.timeout(2.0):
            await asyncio.gather(*(asyncio.to_thread(lambda: None) for _ in range(8)))
        assert len(names.asked) == 4
    finally:
        names.over.set()
        await victim.links.close()
        for stranger in strangers:
            await stranger.links.close()
