"""What the server carries from peer to peer: signals, and sealed parcels where no link could be made."""

from __future__ import annotations

import asyncio

from backend.protocols.token_bucket import Rate
from backend.server.mesh.peer_list import Peer, Peers
from backend.wire.codec import encode
from backend.wire.mesh_messages import Relay, RelayTo, Signal, SignalTo, Unreachable

# What may wait for one peer before no more is taken for it, well below where its connection would end.
MOST_WAITING = 1 << 20
# How long a parcel waits for room, and how often it looks for some.
WAIT_SECONDS, LOOK_SECONDS = 10.0, 0.02


class Post:
    """Carries between `peers`, up to `bytes_per_second` of parcels from each.

    A sender waits, and with it all else that it has to say, while there is no room: so it learns how fast the
    other end reads, as on a link of their own.
    """

    def __init__(self, peers: Peers, bytes_per_second: int) -> None:
        self._peers = peers
        self._rate = Rate(bytes_per_second, bytes_per_second)
        # Bytes carried since the start.
        self.carried = 0

    async def carry(self, sender: Peer, message: SignalTo | RelayTo) -> None:
        """Brings it to whom it is for, or says that this cannot be."""
        if isinstance(message, SignalTo):
            frame = encode(Signal(client=sender.client.id, data=message.data))
            brought = self._bring(message.client, frame)
        else:
            frame = encode(Relay(client=sender.client.id, data=message.data))
            await self._wait_for_pace(sender, len(frame))
            brought = await self._bring_patiently(message.client, frame)
        if not brought:
            sender.link.send(encode(Unreachable(client=message.client)))

    def _bring(self, client: str, frame: bytes) -> bool:
        peer = self._peers.here.get(client)
        if peer is None or peer.link.backlog + len(frame) > MOST_WAITING:
            return False
        peer.link.send(frame)
        self.carried += len(frame)
        return True

    async def _bring_patiently(self, client: str, frame: bytes) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        while not self._bring(client, frame):
            if client not in self._peers.here or loop.time() >= until:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True

    async def _wait_for_pace(self, sender: Peer, size: int) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._rate.wait(sender.rested, loop.time(), size))
        sender.rested = max(sender.rested, loop.time()) + size / self._rate.per_second
