"""A client with a real socket that trains nothing but sends real vectors."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from backend.wire.codec import decode_server, encode
from backend.wire.messages import (
    PROTOCOL,
    Accepted,
    Aggregation,
    Chunk,
    ClientFrame,
    Credit,
    Hello,
    Offer,
    Ready,
    Refused,
    ServerFrame,
    Train,
    Welcome,
)
from tests.support.timeouts import PATIENCE

Message = TypeVar("Message", bound=Any)


class Client:
    """A connection; `async with Client(url, task)` sends hello and waits for welcome.

    `aggregation` are the permitted ways of summing its updates, `min_masked` the minimum number of clients in
    a masked sum.
    """

    def __init__(
        self,
        url: str,
        task: str = "tiny",
        token: str | None = None,
        aggregation: Sequence[Aggregation] = ("open",),
        min_masked: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._headers = headers
        self.address = f"{url.replace('http', 'ws', 1)}/api/tasks/{task}/socket"
        self.token = token or secrets.token_urlsafe(24)
        self.id = ""
        self.welcome: Welcome
        self._aggregation, self._min_masked = list(aggregation), min_masked
        self.heard: list[ServerFrame] = []
        self.socket: ClientConnection

    async def __aenter__(self) -> Self:
        self.socket = await connect(
            self.address,
            subprotocols=[Subprotocol(PROTOCOL)],
            max_size=1 << 20,
            additional_headers=self._headers,
        )
        await self.say(
            Hello(
                token=self.token,
                kind="peer",
                backend="numpy",
                agent="test",
                aggregation=self._aggregation,
                min_masked=self._min_masked,
            )
        )
        self.welcome = await self.next(Welcome)
        self.id = self.welcome.client
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()

    async def say(self, message: ClientFrame) -> None:
        """Sends a message."""
        await self.socket.send(encode(message))

    async def next(self, *kinds: type[Message], patience: float = PATIENCE) -> Message:
        """Returns the next message of one of `kinds`; all messages are stored in `heard`."""
        async with asyncio.timeout(patience):
            while True:
                frame = await self.socket.recv()
                assert isinstance(frame, bytes)
                message = decode_server(frame)
                self.heard.append(message)
                if isinstance(message, kinds):
                    return message

    async def ready(self) -> None:
        """Gets ready for selection."""
        await self.say(Ready(backend="numpy", step_ms=1.0, examples=0))

    async def selected(self) -> Train:
        """Returns the plan of the next round."""
        return await self.next(Train)

    async def offer(self, plan: Train, values: int, **changes: Any) -> None:
        """Offers an update of so many `values` for `plan`, with `changes` to the offer."""
        said: dict[str, Any] = {
            "round": plan.round,
            "version": plan.version,
            "examples": plan.epochs * sum(shard.examples for shard in plan.shards),
            "steps": 1,
            "loss": 0.5,
            "sums": [(1.0, 4.0)],
            "size": 4 * values,
        }
        await self.say(Offer(**(said | changes)))

    async def deliver(self, plan: Train, update: ArrayLike, **changes: Any) -> Accepted | Refused:
        """Offers and sends `update`; returns the server's answer."""
        vector = np.asarray(update, dtype="<f4")
        await self.offer(plan, vector.size, **changes)
        data, sent = vector.tobytes(), 0
        while True:
            answer: ServerFrame = await self.next(Credit, Accepted, Refused)
            if isinstance(answer, Accepted | Refused):
                return answer
            assert isinstance(answer, Credit)
            while sent < answer.until:
                part = data[sent : min(answer.until, sent + 256 * 1024)]
                await self.say(Chunk(round=plan.round, offset=sent, data=memoryview(part)))
                sent += len(part)
