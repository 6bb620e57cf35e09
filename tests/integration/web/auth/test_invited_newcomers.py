"""A task that everyone may read about, and that only invited people join."""

from __future__ import annotations

from pathlib import Path

import httpx
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from backend.peer.session.server_address import visitor_headers
from backend.wire.codec import decode_server
from backend.wire.messages import PROTOCOL, Closing
from tests.support.attacks.newcomers_server import newcomers_server
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.visitors import operator

TOKEN = "t" * 32


async def test_strangers_read_about_the_task_and_invited_people_join(tmp_path: Path) -> None:
    with newcomers_server(tmp_path, 'newcomers = "invited"') as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
            assert (await http.get("/api/tasks/tiny")).json()["newcomers"] == "invited"
            page = (await http.get("/tasks/tiny/train")).text
            assert "Only people with an invitation take part in this task" in page
            address = f"{server.url.replace('http', 'ws', 1)}/api/tasks/tiny/socket"
            async with connect(address, subprotocols=[Subprotocol(PROTOCOL)]) as socket:
                frame = await socket.recv()
                assert isinstance(frame, bytes)
                closing = decode_server(frame)
            assert isinstance(closing, Closing)
            assert closing.code == "forbidden"
            assert "Ask its owner for one" in closing.reason
            ann = operator(server)
            made = ann.ask("POST", "/api/tasks/tiny/invitations", {"note": "Bob", "uses": 1})
            joined = await http.post("/api/join", json={"code": made["code"]}, headers=visitor_headers(TOKEN))
            assert joined.json()["task"] == "tiny"
        async with Client(server.url, token=TOKEN, headers=visitor_headers(TOKEN)) as bob:
            assert bob.id
