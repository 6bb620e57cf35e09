"""Someone who wants to join a task under many names without the work that it asks newcomers for.

The server is a real one; solutions are used twice, for another name and another task, after too little work,
and not at all. A flood of questions leaves nothing behind.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from backend.crypto.proof_of_work import PARTS, search
from backend.wire.client_id import client_id
from backend.wire.codec import decode_server, encode
from backend.wire.messages import PROTOCOL, Closing, Hello
from tests.support.attacks.newcomers_server import newcomers_server
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server

BITS = 12
ACCESS = f'newcomers = "work"\nwork = {{ bits = {BITS} }}'


def new_name() -> str:
    return secrets.token_urlsafe(24)


def url(server: Server, token: str, task: str = "tiny") -> str:
    return f"{server.url}/api/tasks/{task}/challenges/{client_id(token)}"


def asked(server: Server, token: str, task: str = "tiny") -> dict[str, Any]:
    with urlopen(url(server, token, task), timeout=PATIENCE) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def solved(challenge: str, bits: int = BITS) -> list[int]:
    seed = bytes.fromhex(challenge.partition(".")[2])
    nonces = [search(seed, part, bits, 0, 1 << 24) for part in range(PARTS)]
    return [nonce for nonce in nonces if nonce is not None]


def post(server: Server, token: str, challenge: str, nonces: list[int], task: str = "tiny") -> str:
    """Sends a solution; returns the code of the refusal, "" if there is none."""
    body = json.dumps({"challenge": challenge, "nonces": nonces}).encode()
    request = Request(url(server, token, task), body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            assert answer.status == 204
        return ""
    except HTTPError as error:
        with error:
            code: str = json.load(error)["error"]["code"]
        return code


async def closing_code(server: Server, token: str) -> str:
    """Says hello; returns the code with which the server closes, "" if it welcomes the client."""
    address = f"{server.url.replace('http', 'ws', 1)}/api/tasks/tiny/socket"
    async with connect(address, subprotocols=[Subprotocol(PROTOCOL)]) as socket:
        hello = Hello(
            token=token, kind="peer", backend="numpy", agent="test", aggregation=["open"], min_masked=0
        )
        await socket.send(encode(hello))
        frame = await socket.recv()
        assert isinstance(frame, bytes)
        message = decode_server(frame)
        return message.code if isinstance(message, Closing) else ""


async def test_only_who_proved_work_of_its_own_joins(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "texts")
    text = (tmp_path / "tasks" / "texts" / "task.toml").read_text()
    (tmp_path / "tasks" / "texts" / "task.toml").write_text(f"{text}[access]\n{ACCESS}\n")
    with newcomers_server(tmp_path, ACCESS) as server:
        worker, thief = new_name(), new_name()
        assert await closing_code(server, worker) == "work-required"
        challenge = asked(server, worker)
        assert (challenge["bits"], challenge["parts"]) == (BITS, PARTS)
        nonces = solved(challenge["challenge"])
        assert post(server, thief, challenge["challenge"], nonces) == "bad-work"
        assert post(server, worker, challenge["challenge"], nonces, "texts") == "bad-work"
        assert post(server, worker, challenge["challenge"], solved(challenge["challenge"], 8)) == "bad-work"
        assert await closing_code(server, worker) == "work-required"
        assert post(server, worker, challenge["challenge"], nonces) == ""
        assert post(server, worker, challenge["challenge"], nonces) == "bad-work"
        assert await closing_code(server, worker) == ""
        assert asked(server, worker) == {"challenge": None}
        assert await closing_code(server, thief) == "work-required"
        assert asked(server, worker, "texts")["challenge"] is not None  # Each task asks by itself.


async def test_a_client_with_an_accepted_update_is_not_asked_after_a_restart(tmp_path: Path) -> None:
    with newcomers_server(tmp_path, ACCESS, min_available_clients=1, rounds=2) as server:
        token, other = new_name(), new_name()
        for name in (token, other):
            challenge = asked(server, name)["challenge"]
            assert post(server, name, challenge, solved(challenge)) == ""
        async with Client(server.url, token=token) as client:
            await client.ready()
            plan = await client.selected()
            await client.deliver(plan, [1.0] * 10)
            await client.selected()
        server.stop()
        server.start()
        assert asked(server, token) == {"challenge": None}
        assert asked(server, other)["challenge"] is not None


@pytest.mark.parametrize("client", ["0" * 15, "0" * 17, "G" * 16, "..%2f..%2f"])
def test_what_is_no_id_is_refused(tmp_path: Path, client: str) -> None:
    with newcomers_server(tmp_path, ACCESS) as server, pytest.raises(HTTPError) as refused:
        urlopen(f"{server.url}/api/tasks/tiny/challenges/{client}", timeout=PATIENCE)
    with refused.value:
        assert refused.value.status in (400, 404)
