"""Sends signals through the server, or through peers if it is away or cannot reach the receiver."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from backend.peer.links.interfaces import SignallingServer
from backend.wire.peer_messages import Passed, Passing, PeerFrame

# A signal whose loss is reported after this long is useless.
FRESH_SECONDS = 10.0
# The number of peers that carry one signal: one of them may be about to leave.
MOST_CARRIERS = 2
# The most signals that are forwarded for one peer in `_PASSED_SECONDS`.
MOST_PASSED = 100
_PASSED_SECONDS = 10.0

SendFrame = Callable[[str, PeerFrame], bool]


class SignalRouter:
    """Sends the signals of the peer `local`, and forwards those of linked peers.

    `send_frame` sends a frame over a link, or returns False; `linked` returns the clients that have links.
    """

    def __init__(
        self, local: str, server: SignallingServer, send_frame: SendFrame, linked: Callable[[], list[str]]
    ) -> None:
        self._local = local
        self._server = server
        self._send_frame = send_frame
        self._linked = linked
        self._recent: dict[str, deque[tuple[float, bytes]]] = {}
        self._forwarded: dict[str, deque[float]] = {}

    def send(self, client: str, note: bytes) -> None:
        """Sends a signal through the server or, while it is away, through peers."""
        if not self._server.signal(client, note):
            self._send_through_peers(client, note)
            return
        now, recent = time.monotonic(), self._recent.setdefault(client, deque())
        recent.append((now, note))
        while now - recent[0][0] > FRESH_SECONDS:
            recent.popleft()

    def unreachable(self, client: str) -> None:
        """Sends recent signals, which the server could not deliver to `client`, through peers."""
        now = time.monotonic()
        for sent, note in self._recent.pop(client, ()):
            if now - sent <= FRESH_SECONDS:
                self._send_through_peers(client, note)

    def forward(self, sender: str, client: str, note: bytes, now: float) -> None:
        """Forwards a signal of `sender` to `client`; ignores it beyond the limit of MOST_PASSED."""
        times = self._forwarded.setdefault(sender, deque())
        while times and now - times[0] > _PASSED_SECONDS:
            times.popleft()
        if client in (sender, self._local) or len(times) >= MOST_PASSED:
            return
        times.append(now)
        self._send_frame(client, Passed(client=sender, data=note))

    def _send_through_peers(self, client: str, note: bytes) -> None:
        carriers = 0
        for peer in self._linked():
            if peer != client and carriers < MOST_CARRIERS:
                carriers += self._send_frame(peer, Passing(client=client, data=note))
