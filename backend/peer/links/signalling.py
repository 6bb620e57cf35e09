"""Signals: through the server, and while that is away, or cannot reach the other, through peers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from backend.peer.links.interfaces import SignallingServer
from backend.wire.peer_messages import Passed, Passing, PeerFrame

# A signal that took so long to be told lost is of no use any more.
FRESH_SECONDS = 10.0
# Over how many peers a signal goes at once: one of them may be about to leave.
MOST_CARRIERS = 2
# What one peer may have passed on in ten seconds.
MOST_PASSED = 100
_PASSED_SECONDS = 10.0

Say = Callable[[str, PeerFrame], bool]


class Introducing:
    """Carries the signals of the peer `own`, and those of others to whom it is linked.

    `say` sends a frame over a link, or returns False; `linked` are those to whom there are any.
    """

    def __init__(self, own: str, server: SignallingServer, say: Say, linked: Callable[[], list[str]]) -> None:
        self._own = own
        self._server = server
        self._say = say
        self._linked = linked
        self._recent: dict[str, deque[tuple[float, bytes]]] = {}
        self._passed: dict[str, deque[float]] = {}

    def send(self, client: str, note: bytes) -> None:
        """Sends a signal on the way that there is."""
        if not self._server.signal(client, note):
            self._through_peers(client, note)
            return
        now, recent = time.monotonic(), self._recent.setdefault(client, deque())
        recent.append((now, note))
        while now - recent[0][0] > FRESH_SECONDS:
            recent.popleft()

    def unreachable(self, client: str) -> None:
        """What the server was given for `client` is lost: peers may reach it."""
        now = time.monotonic()
        for sent, note in self._recent.pop(client, ()):
            if now - sent <= FRESH_SECONDS:
                self._through_peers(client, note)

    def passing(self, sender: str, client: str, note: bytes, now: float) -> None:
        """`sender` asks to pass a signal on to `client`."""
        times = self._passed.setdefault(sender, deque())
        while times and now - times[0] > _PASSED_SECONDS:
            times.popleft()
        if client in (sender, self._own) or len(times) >= MOST_PASSED:
            return
        times.append(now)
        self._say(client, Passed(client=sender, data=note))

    def _through_peers(self, client: str, note: bytes) -> None:
        carriers = 0
        for peer in self._linked():
            if peer != client and carriers < MOST_CARRIERS:
                carriers += self._say(peer, Passing(client=client, data=note))
