"""Limits how much of a connection's data waits in the system's send buffer."""

from __future__ import annotations

import socket as sockets
import struct

# The most unsent bytes in the system's buffer: a control frame would wait behind them.
NOT_SENT = 256 * 1024
# With a smaller buffer, a gigabit line in the same building would run dry.
LEAST_BYTES = 32 * 1024
# From this size on, the system's own tuning is better: it measures what a long line holds.
MOST_BYTES = 1 << 20
# The fastest line that is kept full: bytes per second of round-trip time.
FASTEST = 250e6
# The minimum round-trip time in Linux's tcp_info, in microseconds (linux/tcp.h).
_MIN_ROUND_TRIP = struct.Struct("=148xI")


def limit_send_buffer(socket: sockets.socket) -> None:
    """Limits the system's send buffer, in which a control frame cannot overtake bulk.

    To a near peer, no more bytes are sent ahead than a fast line needs. Where the streams of several members
    meet on a slow line, it would lose what its queue does not hold, and wait until that is sent again.
    """
    if not hasattr(sockets, "TCP_NOTSENT_LOWAT"):
        return
    socket.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NOTSENT_LOWAT, NOT_SENT)
    try:
        on_one_machine = socket.getsockname()[0] == socket.getpeername()[0]
    except OSError:
        return  # It ended meanwhile, and its user will notice.
    if on_one_machine:
        return  # There is no network between them.
    ahead = bytes_ahead(_min_round_trip(socket))
    if ahead is not None:
        socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF, ahead)


def bytes_ahead(seconds: float | None) -> int | None:
    """Returns the send buffer in bytes for a round trip of `seconds`; None where the system decides."""
    if seconds is None or seconds * FASTEST >= MOST_BYTES:
        return None
    return max(LEAST_BYTES, int(seconds * FASTEST))


def _min_round_trip(socket: sockets.socket) -> float | None:
    """Returns the minimum round-trip time so far, in seconds; None if the system does not report it."""
    if not hasattr(sockets, "TCP_INFO"):
        return None
    info = socket.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_INFO, 256)
    if len(info) < _MIN_ROUND_TRIP.size:
        return None
    (microseconds,) = _MIN_ROUND_TRIP.unpack_from(info)
    # All ones: nothing was measured.
    return None if microseconds in (0, 2**32 - 1) else microseconds / 1e6
