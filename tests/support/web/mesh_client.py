"""A peer with a real socket to the server; it sends and signs a peer's messages without averaging."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from websockets.asyncio.client import ClientConnection, connect

from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign
from backend.wire.mesh_codec import decode_to_peer, encode_mesh
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.mesh_messages import (
    Averaged,
    Enter,
    Entered,
    Group,
    Members,
    PeerToServer,
    ServerToPeer,
    Trained,
)
from backend.wire.messages import Ready, Train
from tests.support.timeouts import PATIENCE

Message = TypeVar("Message", bound=Any)


def address_of(data: bytes) -> str:
    """Returns the address of a blob."""
    return hashlib.sha256(data).hexdigest()


def _put(url: str, data: bytes) -> int:
    try:
        with urlopen(Request(url, data, method="PUT"), timeout=PATIENCE) as answer:
            status: int = answer.status
    except HTTPError as error:
        with error:
            return error.code
    return status


class MeshPeer:
    """A connection; `async with MeshPeer(url)` enters, with `changes`, and waits for the answer."""

    def __init__(
        self,
        url: str,
        task: str = "tiny",
        token: str | None = None,
        private: bytes | None = None,
        **changes: Any,
    ) -> None:
        self.address = f"{url.replace('http', 'ws', 1)}/api/tasks/{task}/socket"
        self.token = token or secrets.token_urlsafe(24)
        self.private = private or secrets.token_bytes(32)
        self.id = ""
        self.entered: Entered
        self.heard: list[ServerToPeer] = []
        self.socket: ClientConnection
        self._changes = changes

    async def __aenter__(self) -> Self:
        self.socket = await connect(self.address, subprotocols=[MESH_PROTOCOL], max_size=1 << 20)  # type: ignore[list-item]  # A NewType of str.
        await self.say(self.enter())
        self.entered = await self.next(Entered)
        self.id = self.entered.client
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()

    def enter(self) -> Enter:
        """Returns its first frame."""
        said: dict[str, Any] = {
            "token": self.token,
            "kind": "peer",
            "backend": "numpy",
            "agent": "test",
            "identity": identity_key(self.private),
            "ways": ["relay"],
            "address": None,
            "round": 0,
            "holds": None,
            "certificate": None,
        }
        return Enter(**(said | self._changes))

    async def say(self, message: PeerToServer) -> None:
        """Sends a message."""
        await self.socket.send(encode_mesh(message))

    async def next(self, *kinds: type[Message], patience: float = PATIENCE) -> Message:
        """Returns the next message of one of `kinds`; all messages are stored in `heard`."""
        async with asyncio.timeout(patience):
            while True:
                frame = await self.socket.recv()
                assert isinstance(frame, bytes)
                message = decode_to_peer(frame)
                self.heard.append(message)
                if isinstance(message, kinds):
                    return message

    async def members(self, count: int) -> Members:
        """Returns the members once there are so many."""
        while len((told := await self.next(Members)).members) != count:
            pass
        return told

    async def trained(self, plan: Train, **changes: Any) -> None:
        """Reports the planned training as done, with `changes` to the report."""
        said: dict[str, Any] = {
            "round": plan.round,
            "base": plan.weights,
            "examples": plan.epochs * sum(shard.examples for shard in plan.shards),
            "steps": 1,
            "loss": 0.5,
            "sums": [(1.0, 4.0)],
        }
        await self.say(Trained(**(said | changes)))

    async def averaged(self, group: Group, weights: bytes, survivors: Sequence[int], **changes: Any) -> None:
        """Reports and signs its group's result."""
        said: dict[str, Any] = {
            "round": group.round,
            "group": group.group,
            "weights": address_of(weights),
            "survivors": list(survivors),
            "fraction": 1.0,
            "seconds": 0.5,
            "signature": self.sign(group, weights, survivors),
        }
        await self.say(Averaged(**(said | changes)))

    def sign(self, group: Group, weights: bytes, survivors: Sequence[int]) -> bytes:
        """Returns its signature of its group's result."""
        names = [group.members[place] for place in survivors]
        return self.sign_for(group.round, group.group, names, weights)

    def sign_for(self, number: int, group: int, survivors: Sequence[str], weights: bytes) -> bytes:
        """Returns its signature of weights of any group, honest or not."""
        of = self.entered
        weights_hash = address_of(weights)
        statement = weights_statement(of.task, of.bundle, of.run, number, group, survivors, weights_hash)
        return sign(self.private, statement)

    async def put(self, weights: bytes, address: str | None = None) -> int:
        """Uploads weights to its task; returns the HTTP status."""
        url = self.address.replace("ws", "http", 1).replace("/socket", "/weights/")
        where = url + (address or address_of(weights))
        return await asyncio.to_thread(_put, where, weights)

    async def ready(self) -> None:
        """Gets ready for rounds."""
        await self.say(Ready(backend="numpy", step_ms=1.0, examples=0))
