"""Relays signals between peers, and sealed frames where two peers could not make a link."""

from __future__ import annotations

import asyncio

from backend.protocols.token_bucket import Rate
from backend.server.mesh.peer_list import Peer, Peers
from backend.wire.codec import encode
from backend.wire.mesh_messages import Relay, RelayTo, Signal, SignalTo, Unreachable

# Bytes queued for one peer above which nothing is relayed to it; its connection would end at far more.
MAX_BACKLOG_BYTES = 1 << 20
# How long a sealed frame waits for a shorter queue, and how often the queue is checked.
WAIT_SECONDS, POLL_SECONDS = 10.0, 0.02


class PeerRelay:
    """Relays messages between `peers`: of sealed frames up to `bytes_per_second` from each sender.

    While the receiver's queue is full, a sealed frame waits, and with it all later messages of its sender:
    the sender is slowed down to the speed of the receiver, as on a direct link. Signals never wait.
    """

    def __init__(self, peers: Peers, bytes_per_second: int) -> None:
        self._peers = peers
        self._rate = Rate(bytes_per_second, bytes_per_second)
        # Bytes relayed since the start.
        self.carried = 0

    async def forward(self, sender: Peer, message: SignalTo | RelayTo) -> None:
        """Sends a message to its receiver, or tells the sender that the receiver is unreachable."""
        if isinstance(message, SignalTo):
            frame = encode(Signal(client=sender.client.id, data=message.data))
            delivered = self._deliver(message.client, frame)
        else:
            frame = encode(Relay(client=sender.client.id, data=message.data))
            await self._wait_for_rate(sender, len(frame))
            delivered = await self._deliver_or_wait(message.client, frame)
        if not delivered:
            sender.link.send(encode(Unreachable(client=message.client)))

    def _deliver(self, client: str, frame: bytes) -> bool:
        peer = self._peers.by_id.get(client)
        if peer is None or peer.link.backlog + len(frame) > MAX_BACKLOG_BYTES:
            return False
        peer.link.send(frame)
        self.carried += len(frame)
        return True

    async def _deliver_or_wait(self, client: str, frame: bytes) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + WAIT_SECONDS
        while not self._deliver(client, frame):
            if client not in self._peers.by_id or loop.time() >= deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    async def _wait_for_rate(self, sender: Peer, size: int) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._rate.wait(sender.relay_full_at, loop.time(), size))
        sender.relay_full_at = max(sender.relay_full_at, loop.time()) + size / self._rate.per_second
