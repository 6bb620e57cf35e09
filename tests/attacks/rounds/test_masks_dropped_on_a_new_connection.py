"""A server masks updates, breaks the connection, and asks for open updates on the next one.

A client that may add updates up in either way says so in each `hello`, so that the answer to that alone does
not tell a server that dropped the masks.
"""

from __future__ import annotations

import asyncio
from io import StringIO
from pathlib import Path

import httpx
from msgspec.structs import replace

from backend.peer.rounds.session import RoundsSession
from backend.peer.session.identity import ClientIdentity
from backend.peer.session.join import JoinOptions, JoinRequest
from backend.peer.session.progress import JsonLines
from backend.peer.session.server_address import Choice, ServerAddress
from backend.protocols.client import participant_events
from backend.protocols.client.participant import ParticipantMachine
from backend.wire import messages
from tests.support.attacks.lying_rounds_server import new_token, plan_of
from tests.support.attacks.plain_server import PARAMETERS, PlainServer, leaving, left, listening, welcome
from tests.support.attacks.training_peers import training_peer
from tests.support.timeouts import PATIENCE

OPEN = replace(plan_of(1, 0), masking=None)
LEFT = "in a different form than agreed"


async def test_an_open_update_is_not_sent_after_a_masked_welcome(tmp_path: Path) -> None:
    server = PlainServer([welcome(None, "masked"), welcome(None, "open")], [OPEN])
    assert LEFT in await left(server, tmp_path)
    assert server.updates == []


async def test_a_task_that_is_listed_with_masks_alone_is_not_joined_in_the_open(tmp_path: Path) -> None:
    server = PlainServer([welcome(None, "open")], [OPEN])
    options = JoinOptions(device="cpu", min_masked=None, min_noise=None, roster=None, ways=[], listening=None)
    async with listening(server) as port, httpx.AsyncClient() as client:
        request = JoinRequest(
            ServerAddress(f"http://127.0.0.1:{port}", "tiny"),
            Choice("tiny", "federated", aggregation=("masked",)),
            ClientIdentity(new_token(), bytes(32)),
            "test",
            tmp_path,
            None,
            options,
            {},
        )
        peer = request.session(client, tmp_path / "cache", JsonLines(StringIO()))
        assert isinstance(peer, RoundsSession)
        assert LEFT in await leaving(peer)


async def test_a_task_that_masked_is_not_joined_in_the_open_after_a_turn_at_another(tmp_path: Path) -> None:
    welcomes = [welcome(None, "masked")]
    server = PlainServer(welcomes, [])
    promises: dict[str, messages.Welcome] = {}
    async with listening(server) as port, asyncio.timeout(PATIENCE):
        address = f"ws://127.0.0.1:{port}/api/tasks/tiny/socket"

        def session() -> RoundsSession:
            ways: list[messages.Aggregation] = ["masked", "open"]
            return training_peer(address, token, PARAMETERS, tmp_path, StringIO(), ways, promises=promises)

        token, leave = new_token(), asyncio.Event()
        leave.set()
        assert await session().run(asyncio.Event(), leave) == "left"
        welcomes.append(welcome(None, "open"))
        assert LEFT in await leaving(session())


def test_a_volunteer_who_stops_and_starts_again_is_not_asked_for_an_open_update() -> None:
    machine = ParticipantMachine()
    hello = messages.Hello(
        token=new_token(), kind="browser", backend="wasm", agent="test", aggregation=["masked", "open"],
        min_masked=0,
    )  # fmt: skip
    for answer in (welcome(None, "masked"), welcome(None, "open")):
        machine.handle(participant_events.StopParticipant())
        machine.handle(participant_events.StartParticipant(hello, 0.0))
        machine.handle(participant_events.Connected())
        effects = machine.handle(participant_events.ParticipantFrame(answer))
    assert effects == [participant_events.Close()]
    assert machine.connection.is_closed
    assert machine.reason is not None
    assert LEFT in machine.reason
