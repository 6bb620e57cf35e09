"""Pieces and means on their way to the other members, chunk by chunk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from backend.numerics.precision import Bytes
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Mean, PeerFrame, Piece

# So much may wait in a link: enough for it not to run dry, and little to be sent in vain.
WAITING_BYTES = 256 * 1024
# Below it, a transfer is as good as over, and the next member's turn begins.
LAST_BYTES = 32 * 1024
# So many transfers at once, while all get on. If all members sent to all others at the same time, their
# streams would push each other away on the lines, and some piece or other would come long after the rest.
AT_ONCE = 2
# Whoever takes nothing for so many seconds does not hold up the others.
STALLED_SECONDS = 0.5

# The frame of the chunk that begins at an offset.
Chunk: TypeAlias = Callable[[int, memoryview], Piece | Mean]
# Bytes, or what makes them on another thread when their turn comes.
Data: TypeAlias = Bytes | Callable[[], Bytes]


class Lines(Protocol):
    """What an exchange needs of links; backend.peer.links.links.LinkManager has it."""

    def send(self, client: str, frame: PeerFrame | bytes, bulk: bool = False) -> None: ...
    def room(self, client: str) -> int: ...
    async def drained(self, client: str, below: int) -> None: ...


class _Way:
    """What is sent to one member, one after the other."""

    def __init__(self) -> None:
        self.queue: deque[tuple[Chunk, Data]] = deque()
        self.running: asyncio.Task[None] | None = None
        self.got_on_at = 0.0


class Sender:
    """All transfers of the member `own` of `members`, in turn. Owned by the exchange.

    Turns begin with the member after one's own and go round: so no two members begin with the same.
    """

    def __init__(self, lines: Lines, members: Sequence[str], own: str) -> None:
        self._lines = lines
        place = members.index(own)
        self._turns = deque([*members[place + 1 :], *members[:place]])
        self._ways = {client: _Way() for client in self._turns}
        self._loop = asyncio.get_running_loop()
        self._looking: asyncio.TimerHandle | None = None

    def add(self, client: str, chunk: Chunk, data: Data) -> None:
        """Queues `data` for `client`; it must not change."""
        self._ways[client].queue.append((chunk, data))
        if self._looking is not None:
            self._looking.cancel()
        # Not at once: whose turn it is shows when all that is to be sent now is queued.
        self._looking = self._loop.call_later(0.0, self._go_on)

    def clear(self, client: str) -> None:
        """Drops all that waits for `client`."""
        way = self._ways[client]
        way.queue.clear()
        if way.running is not None:
            way.running.cancel()

    def close(self) -> None:
        """Drops everything."""
        for client in self._ways:
            self.clear(client)
        if self._looking is not None:
            self._looking.cancel()

    def _go_on(self) -> None:
        """Begins transfers while fewer than AT_ONCE get on."""
        now = self._loop.time()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        running = [way for way in self._ways.values() if way.running is not None]
        busy = sum(now - way.got_on_at < STALLED_SECONDS for way in running)
        for client in [client for client in self._turns if self._ways[client].running is None]:
            way = self._ways[client]
            if busy >= AT_ONCE:
                break
            if way.queue:
                self._turns.rotate(-1 - self._turns.index(client))
                way.got_on_at = now
                way.running = asyncio.create_task(self._send(client, way, *way.queue.popleft()))
                way.running.add_done_callback(partial(self._ended, way))
                busy += 1
        if any(way.queue for way in self._ways.values()):
            self._looking = self._loop.call_later(STALLED_SECONDS, self._go_on)

    def _ended(self, way: _Way, _sent: asyncio.Task[None]) -> None:
        way.running = None
        self._go_on()

    async def _send(self, client: str, way: _Way, chunk: Chunk, to_send: Data) -> None:
        data = await asyncio.to_thread(to_send) if callable(to_send) else to_send
        start = 0
        while start < len(data) or start == 0:
            await self._lines.drained(client, WAITING_BYTES)
            room = self._lines.room(client)
            if not room:  # The link is gone; the machine says what to send over the next one.
                way.queue.clear()
                return
            self._lines.send(client, chunk(start, data[start : start + room].data), bulk=True)
            way.got_on_at = self._loop.time()
            start += room
        await self._lines.drained(client, LAST_BYTES)


def piece_of(group: Group, part: int, contributors: list[int]) -> Chunk:
    """Chunks of a piece of `part`, or of a ring's sum of `contributors`."""
    return lambda offset, data: Piece(group.round, group.group, part, contributors, offset, data)


def mean_of(group: Group, part: int, contributors: list[int]) -> Chunk:
    """Chunks of the mean of `contributors`."""
    return lambda offset, data: Mean(group.round, group.group, part, contributors, offset, data)
