"""Sends pieces and means to the other members, in chunks and in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from backend.numerics.precision import Bytes
from backend.wire.byzantine_messages import Show
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Mean, PeerFrame, Piece

# Bytes that may wait in a link: enough that it does not run dry, few enough that little is sent in vain.
WAITING_BYTES = 256 * 1024
# Below this number of bytes a transfer counts as done, and the next member is served.
LAST_BYTES = 32 * 1024
# Number of concurrent transfers that make progress. If all members sent to all others at the same time, their
# streams would compete for bandwidth, and some piece would arrive long after the rest.
AT_ONCE = 2
# A member that takes nothing for this many seconds does not delay the others.
STALLED_SECONDS = 0.5

# Makes the frame of the chunk that begins at an offset.
Chunk: TypeAlias = Callable[[int, memoryview], Piece | Mean | Show]
# Bytes, or a function that makes them on another thread when they are sent.
Data: TypeAlias = Bytes | Callable[[], Bytes]


class GroupLinks(Protocol):
    """The part of the links that an exchange needs; backend.peer.links.links.LinkManager has it."""

    def send(self, client: str, frame: PeerFrame | bytes, bulk: bool = False) -> None: ...
    def room(self, client: str) -> int: ...
    async def drained(self, client: str, below: int) -> None: ...


class _SendQueue:
    """The transfers to one member, one after the other."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Chunk, Data]] = deque()
        self.running: asyncio.Task[None] | None = None
        self.progress_at = 0.0


class Sender:
    """Sends to the `members` in turn, as the member `own`. Owned by the exchange.

    The order begins with the member after this one, so that no two members begin with the same.
    """

    def __init__(self, links: GroupLinks, members: Sequence[str], own: str) -> None:
        self._links = links
        place = members.index(own)
        self._order = deque([*members[place + 1 :], *members[:place]])
        self._queues = {client: _SendQueue() for client in self._order}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, client: str, chunk: Chunk, data: Data) -> None:
        """Queues `data` for `client`; it must not change."""
        self._queues[client].waiting.append((chunk, data))
        if self._timer is not None:
            self._timer.cancel()
        # Deferred, because the order of service depends on all transfers that are queued now.
        self._timer = self._loop.call_later(0.0, self._start_transfers)

    def clear(self, client: str) -> None:
        """Drops all transfers to `client`."""
        queue = self._queues[client]
        queue.waiting.clear()
        if queue.running is not None:
            queue.running.cancel()

    def close(self) -> None:
        """Drops all transfers."""
        for client in self._queues:
            self.clear(client)
        if self._timer is not None:
            self._timer.cancel()

    def _start_transfers(self) -> None:
        """Begins transfers while fewer than AT_ONCE get on."""
        now = self._loop.time()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        running = [queue for queue in self._queues.values() if queue.running is not None]
        busy = sum(now - queue.progress_at < STALLED_SECONDS for queue in running)
        for client in [client for client in self._order if self._queues[client].running is None]:
            queue = self._queues[client]
            if busy >= AT_ONCE:
                break
            if queue.waiting:
                self._order.rotate(-1 - self._order.index(client))
                queue.progress_at = now
                queue.running = asyncio.create_task(self._send(client, queue, *queue.waiting.popleft()))
                queue.running.add_done_callback(partial(self._ended, queue))
                busy += 1
        if any(queue.waiting for queue in self._queues.values()):
            self._timer = self._loop.call_later(STALLED_SECONDS, self._start_transfers)

    def _ended(self, queue: _SendQueue, _sent: asyncio.Task[None]) -> None:
        queue.running = None
        self._start_transfers()

    async def _send(self, client: str, queue: _SendQueue, chunk: Chunk, content: Data) -> None:
        data = await asyncio.to_thread(content) if callable(content) else content
        start = 0
        while start < len(data) or start == 0:
            await self._links.drained(client, WAITING_BYTES)
            room = self._links.room(client)
            if not room:  # The link is gone; the machine decides what to send over the next one.
                queue.waiting.clear()
                return
            self._links.send(client, chunk(start, data[start : start + room].data), bulk=True)
            queue.progress_at = self._loop.time()
            start += room
        await self._links.drained(client, LAST_BYTES)


def piece_of(group: Group, part: int, contributors: list[int]) -> Chunk:
    """Returns a maker of chunks of a piece of `part`, or of a ring's sum of `contributors`."""
    return lambda offset, data: Piece(group.round, group.group, part, contributors, offset, data)


def mean_of(group: Group, part: int, contributors: list[int]) -> Chunk:
    """Returns a maker of chunks of the mean of `contributors`."""
    return lambda offset, data: Mean(group.round, group.group, part, contributors, offset, data)
