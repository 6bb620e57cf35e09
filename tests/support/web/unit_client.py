"""A client of work units with a real socket that trains nothing but sends real vectors."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
from numpy.typing import ArrayLike
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from backend.numerics.vectors import Vector
from backend.wire.codec import encode
from backend.wire.messages import Chunk, Credit, Ready
from backend.wire.unit_messages import (
    UNITS_PROTOCOL,
    Enlist,
    Enlisted,
    Rejected,
    Result,
    ServerToUnits,
    Taken,
    Unit,
    UnitsToServer,
    Want,
)
from backend.wire.units_codec import decode_to_units
from tests.support.timeouts import PATIENCE

Message = TypeVar("Message", bound=Any)
CHUNK = 256 * 1024


class UnitClient:
    """A connection; `async with UnitClient(url)` enlists, with `changes`, and waits for the answer.

    A server that trusts 127.0.0.1 as a proxy takes `address` as where it comes from. `cookie` is sent along.
    `host` is the name by which it calls the server.
    """

    def __init__(
        self,
        url: str,
        task: str = "tiny",
        token: str | None = None,
        address: str = "",
        cookie: str = "",
        host: str = "",
        **changes: Any,
    ) -> None:
        self._url = url
        self._host = host
        self.address = f"{url.replace('http', 'ws', 1)}/api/tasks/{task}/socket"
        self.token = token or secrets.token_urlsafe(24)
        self.id = ""
        self.enlisted: Enlisted
        self.heard: list[ServerToUnits] = []
        self._unasked: list[ServerToUnits] = []
        self.socket: ClientConnection
        headers = {"X-Forwarded-For": address, "Cookie": cookie}
        self._headers = {name: value for name, value in headers.items() if value}
        self._changes = changes

    async def __aenter__(self) -> Self:
        server = urlsplit(self.address)
        self.socket = await connect(
            server._replace(netloc=self._host or server.netloc).geturl(),
            host=server.hostname,
            port=server.port,
            subprotocols=[Subprotocol(UNITS_PROTOCOL)],
            max_size=1 << 20,
            additional_headers=self._headers,
        )
        said: dict[str, Any] = {
            "token": self.token,
            "kind": "peer",
            "backend": "numpy",
            "agent": "test",
            "shards": [],
        }
        await self.say(Enlist(**(said | self._changes)))
        self.enlisted = await self.next(Enlisted)
        self.id = self.enlisted.client
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()

    async def say(self, message: UnitsToServer) -> None:
        """Sends a message."""
        await self.socket.send(encode(message))

    async def next(self, *kinds: type[Message], patience: float = PATIENCE) -> Message:
        """Returns the first unread message of one of `kinds`; others wait until they are requested.

        A task's end during the upload of a result is therefore not lost.
        """
        async with asyncio.timeout(patience):
            for place, message in enumerate(self._unasked):
                if isinstance(message, kinds):
                    del self._unasked[place]
                    return message
            while True:
                frame = await self.socket.recv()
                assert isinstance(frame, bytes)
                message = decode_to_units(frame)
                self.heard.append(message)
                if isinstance(message, kinds):
                    return message
                self._unasked.append(message)

    async def ready(self, slots: int = 1) -> None:
        """Gets ready for so many concurrent units."""
        await self.say(Ready(backend="numpy", step_ms=1.0, examples=0))
        await self.say(Want(slots))

    async def units(self, count: int) -> Sequence[Unit]:
        """Returns the next units that it is assigned."""
        return [await self.next(Unit) for _ in range(count)]

    async def weights(self, unit: Unit) -> Vector:
        """Returns the weights from which a unit starts."""
        return np.frombuffer(await asyncio.to_thread(self._fetch, unit.weights), "<f4")

    def _fetch(self, address: str) -> bytes:
        with urlopen(f"{self._url}/blobs/{address}", timeout=PATIENCE) as answer:
            content: bytes = answer.read()
            return content

    async def deliver(self, unit: Unit, update: ArrayLike, **changes: Any) -> Taken | Rejected:
        """Reports `unit` as done, with `changes`, and sends its result; returns the first answer."""
        vector = np.asarray(update, dtype="<f4")
        said: dict[str, Any] = {
            "lease": unit.lease,
            "examples": unit.epochs * unit.examples,
            "steps": unit.steps or 1,
            "loss": 0.5,
            "sums": [(1.0, 4.0)],
            "size": 4 * vector.size,
        }
        await self.say(Result(**(said | changes)))
        data, sent = vector.tobytes(), 0
        while True:
            answer: ServerToUnits = await self.next(Credit, Taken, Rejected)
            if isinstance(answer, Taken | Rejected):
                if answer.lease == unit.lease:
                    return answer
            elif isinstance(answer, Credit) and answer.round == unit.lease:
                while sent < answer.until:
                    part = data[sent : min(answer.until, sent + CHUNK)]
                    await self.say(Chunk(round=unit.lease, offset=sent, data=memoryview(part)))
                    sent += len(part)
