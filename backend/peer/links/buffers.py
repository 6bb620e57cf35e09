"""Limits how much of a connection's data waits in the system's send buffer."""

from __future__ import annotations

import socket as sockets
import struct

# Of unsent bytes in the system's buffer: a control frame would wait behind them.
NOT_SENT = 256 * 1024
# With less a line of a gigabit in the same building would run dry.
LEAST_BYTES = 32 * 1024
# From so much on the system knows better, which finds out what a long line holds.
MOST_BYTES = 1 << 20
# The fastest line that is kept full: bytes in a second, there and back.
FASTEST = 250e6
# Where Linux's tcp_info has the least time to the other end and back, in microseconds (linux/tcp.h).
_LEAST_TIME = struct.Struct("=148xI")


def limit_send_buffer(socket: sockets.socket) -> None:
    """Lets little wait in the system's buffers, where a control frame cannot overtake it.

    To a peer nearby no more is sent ahead than a fast line needs. A slow one would lose what its queue does
    not hold, when the streams of several members meet there, and wait for it to be sent again.
    """
    if not hasattr(sockets, "TCP_NOTSENT_LOWAT"):
        return
    socket.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NOTSENT_LOWAT, NOT_SENT)
    try:
        on_one_machine = socket.getsockname()[0] == socket.getpeername()[0]
    except OSError:
        return  # It ended meanwhile, and its user will see that.
    if on_one_machine:
        return  # There is no line.
    ahead = bytes_ahead(_least_seconds(socket))
    if ahead is not None:
        socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF, ahead)


def bytes_ahead(seconds: float | None) -> int | None:
    """Bytes to be under way to a peer that is `seconds` there and back; None: as the system decides."""
    if seconds is None or seconds * FASTEST >= MOST_BYTES:
        return None
    return max(LEAST_BYTES, int(seconds * FASTEST))


def _least_seconds(socket: sockets.socket) -> float | None:
    """The least time to the other end and back so far; None where the system does not tell."""
    if not hasattr(sockets, "TCP_INFO"):
        return None
    info = socket.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_INFO, 256)
    if len(info) < _LEAST_TIME.size:
        return None
    (microseconds,) = _LEAST_TIME.unpack_from(info)
    # All ones: nothing was measured.
    return None if microseconds in (0, 2**32 - 1) else microseconds / 1e6
