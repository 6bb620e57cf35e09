"""Keeps frames of groups that this peer has no order for, and says so to the members that wait for it.

The browser's twin is webapp/static/src/client/mesh/early-frames.ts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeAlias, TypeVar

from backend.wire.byzantine_messages import Say
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin, GiveUp, GroupFrame

# Frames of a group that arrive before its order: a few of each member, before any piece.
MOST_EARLY = 64
NO_ORDER = "This peer is not assigned to that group."
# A group's round and number.
GroupKey: TypeAlias = tuple[int, int]
EarlyFrame = TypeVar("EarlyFrame", GroupFrame, GroupFrame | Say)


class FrameLinks(Protocol):
    """The part of backend.peer.links that an answer needs."""

    def send(self, client: str, frame: GiveUp) -> None: ...


class EarlyFrames(Generic[EarlyFrame]):
    """Frames of groups that this peer has no order for yet, by group and client.

    A member that has begun receives `give_up` as soon as this peer `declines` the group of a round and
    number, or when the patience of the last group passed without an order. So a group does not wait half of
    its time for a peer that follows a restarted server.
    """

    def __init__(self, links: FrameLinks, declines: Callable[[int, int], bool]) -> None:
        self._links = links
        self._declines = declines
        self._frames: dict[GroupKey, dict[str, list[EarlyFrame]]] = {}
        self._joined: GroupKey | None = None
        self._patience: float | None = None

    def add(self, client: str, frame: EarlyFrame) -> None:
        """Keeps a frame; of too many groups it forgets the oldest."""
        key = (frame.round, frame.group)
        frames = self._frames.setdefault(key, {}).setdefault(client, [])
        if len(frames) < MOST_EARLY:
            frames.append(frame)
        # A peer that invents groups must not fill the memory.
        while len(self._frames) > MOST_EARLY:
            del self._frames[next(iter(self._frames))]
        if not isinstance(frame, Begin):
            return
        if self._declines(*key):
            self._give_up(key)
        elif self._patience is not None:
            asyncio.get_running_loop().call_later(self._patience, self._give_up, key)

    def join(self, order: Group) -> None:
        """Takes the order of a group that this peer joins; `take` returns its frames."""
        self._joined, self._patience = (order.round, order.group), order.patience

    def take(self, key: GroupKey) -> dict[str, list[EarlyFrame]]:
        """Returns the frames of a group by client, and keeps them no longer."""
        return self._frames.pop(key, {})

    def server_reached(self) -> None:
        """Declines groups of the peers without this one, which follows the server from now on."""
        for key in list(self._frames):
            if self._declines(*key):
                self._give_up(key)

    def close(self) -> None:
        """Forgets all frames, and sends nothing more."""
        self._frames.clear()

    def _give_up(self, key: GroupKey) -> None:
        if key == self._joined:
            return
        for client, frames in self.take(key).items():
            if any(isinstance(frame, Begin) for frame in frames):
                self._links.send(client, GiveUp(*key, 0, NO_ORDER))
