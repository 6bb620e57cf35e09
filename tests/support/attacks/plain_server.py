"""A server of rounds on a real socket that says what a test has it say, to one peer's real session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from backend.errors import UnfitError
from backend.peer.rounds.session import RoundsSession
from backend.wire import messages
from backend.wire.client_id import client_id
from backend.wire.codec import decode_client, encode
from tests.support.attacks.lying_rounds_server import BUNDLE, new_token
from tests.support.attacks.training_peers import training_peer
from tests.support.timeouts import PATIENCE

PARAMETERS = 40
CLIP = 4.0
LOCAL = messages.PrivacyTerms(mechanism="local", clip=CLIP, noise=2.0, delta=1e-5, microbatch=0, visits=0)
MASKS = messages.AggregationTerms(clip=CLIP, min_clients=3, server="active")
SHARED = replace(LOCAL, mechanism="distributed")
NOISY = messages.Privacy(clip=CLIP, noise=2.0, example_clip=0.0, example_noise=0.0, microbatch=0)


class PlainServer:
    """Says `welcomes`, one a connection, and `plans`, one a round; collects what its client sends.

    It breaks the connection after each welcome but the last one.
    """

    def __init__(self, welcomes: list[messages.Welcome], plans: list[messages.Train]) -> None:
        self._welcomes, self._plans = welcomes, plans
        self.heard: list[messages.ClientFrame] = []
        self.updates: list[bytes] = []

    async def hear(self, link: ServerConnection) -> None:
        """Serves one connection."""
        async for data in link:
            assert isinstance(data, bytes)
            if not data:
                await link.send(data)
                continue
            frame = decode_client(data)
            self.heard.append(frame)
            match frame:
                case messages.Hello(token=token):
                    welcome = replace(self._welcomes.pop(0), client=client_id(token))
                    await link.send(encode(welcome))
                case messages.Ready() if self._welcomes:
                    return
                case messages.Ready():
                    await self._next_plan(link)
                case messages.Offer(round=number, size=size):
                    await link.send(encode(messages.Credit(round=number, until=size)))
                case messages.Chunk(round=number, data=content):
                    self.updates.append(bytes(content))
                    await link.send(encode(messages.Accepted(round=number, examples=8)))
                    await self._next_plan(link)

    async def _next_plan(self, link: ServerConnection) -> None:
        if self._plans:
            await link.send(encode(self._plans.pop(0)))


def welcome(
    privacy: messages.PrivacyTerms | None,
    aggregation: messages.Aggregation = "open",
    masking: messages.AggregationTerms = MASKS,
) -> messages.Welcome:
    return messages.Welcome(
        task="tiny",
        client="",
        bundle=BUNDLE,
        run="c" * 64,
        chunk_bytes=1 << 16,
        aggregation=aggregation,
        masking=masking if aggregation == "masked" else None,
        privacy=privacy,
    )


@asynccontextmanager
async def listening(server: PlainServer) -> AsyncIterator[int]:
    """Has `server` listen on a port of this machine, which it yields."""
    async with serve(
        server.hear, "127.0.0.1", 0, subprotocols=[Subprotocol(messages.PROTOCOL)], compression=None
    ) as listener:
        yield next(iter(listener.sockets)).getsockname()[1]


async def left(server: PlainServer, state: Path, min_noise: float = 0.0) -> str:
    """Lets a real peer take part, which has to leave; returns its reason."""
    async with listening(server) as port:
        address = f"ws://127.0.0.1:{port}/api/tasks/tiny/socket"
        ways: list[messages.Aggregation] = ["masked", "open"]
        return await leaving(
            training_peer(address, new_token(), PARAMETERS, state, StringIO(), ways, min_noise)
        )


async def leaving(peer: RoundsSession) -> str:
    """Runs a peer that has to leave its server; returns its reason."""
    with pytest.raises(UnfitError) as error:
        async with asyncio.timeout(PATIENCE):
            await peer.run(asyncio.Event())
    return str(error.value)
