"""Sends frames, signals, relayed parcels and deposits to the server of a mesh."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import httpx

from backend.errors import BannedByMembersError, PeerError, UnreachableError
from backend.peer.admission.work_proof import Prepare, prepare_nothing
from backend.peer.session.server_connection import ServerConnection
from backend.peer.session.transport import MESH, NO_HEADERS
from backend.wire.mesh_messages import PeerToServer, RelayTo, ServerToPeer, SignalTo
from backend.wire.messages import Closing

# The most parcels, of at most 64 KiB each, that wait for the socket: more would only fill memory.
MOST_PARCELS = 8
_MOST_REASON = 300


class Upstream:
    """The connections to the server, one after the other; the links' SignallingServer."""

    def __init__(
        self, address: str, headers: Mapping[str, str] = NO_HEADERS, prepare: Prepare = prepare_nothing
    ) -> None:
        self._connection = ServerConnection(MESH, address, headers, prepare)
        self.send, self.finish = self._connection.send, self._connection.finish
        self._parcels = asyncio.Semaphore(MOST_PARCELS)
        # Whether the server knows this peer: before that, it refuses frames for other peers.
        self.is_entered = False
        # Called when a connection has ended.
        self.on_end: Callable[[], None] = lambda: None
        # Awaited before this peer hears from the server that the members banned it.
        self.before_ban: Callable[[], Awaitable[None]] = _nothing

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._connection.is_open

    async def run_once(self, on_open: Callable[[], None], on_frame: Callable[[ServerToPeer], None]) -> str:
        """Runs one connection until it ends; returns the reason, as the end of a sentence.

        That the members banned this peer is the last frame: the round in hand shows it why.
        """
        parcels = self._parcels = asyncio.Semaphore(MOST_PARCELS)
        bans = list[Closing]()

        def on_sent(frame: PeerToServer) -> None:
            if isinstance(frame, RelayTo):
                parcels.release()

        def on_received(frame: ServerToPeer) -> None:
            if isinstance(frame, Closing) and frame.code == BannedByMembersError.code:
                bans.append(frame)
            else:
                on_frame(frame)

        try:
            reason = await self._connection.run_once(on_open, on_received, on_sent)
        finally:
            self.is_entered = False
            # Senders that wait for room must notice the end of the connection.
            for _ in range(MOST_PARCELS):
                parcels.release()
        if bans:
            await self.before_ban()
            on_frame(bans[0])
        self.on_end()
        return reason

    def signal(self, client: str, data: bytes) -> bool:
        """Sends a signal for `client`; returns False while the server is away."""
        if self.is_entered:
            self.send(SignalTo(client=client, data=data))
        return self.is_entered

    async def relay(self, client: str, data: bytes) -> bool:
        """Sends a sealed frame for `client` as soon as there is room; returns False if the server is away."""
        if not self.is_entered:
            return False
        parcels = self._parcels
        await parcels.acquire()
        if not self.is_entered or parcels is not self._parcels:
            parcels.release()
            return False
        self.send(RelayTo(client=client, data=data))
        return True


async def _nothing() -> None:
    pass


async def deposit(client: httpx.AsyncClient, address: str, weights: bytes) -> None:
    """Uploads `weights` to `address`.

    Raises UnreachableError if the server does not answer, PeerError if it does not accept them.
    """
    try:
        response = await client.put(address, content=weights)
    except httpx.TransportError as error:
        raise UnreachableError(f"The server does not answer ({error or type(error).__name__}).") from error
    if response.status_code >= 500:
        raise UnreachableError(f"The server answers {response.status_code}; it may be restarting.")
    if response.status_code >= 400:
        reason = response.text[:_MOST_REASON]
        raise PeerError(f"The server refuses the weights ({response.status_code}): {reason}")
