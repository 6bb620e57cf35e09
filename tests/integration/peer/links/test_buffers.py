"""How much of what is to be sent lies in the system's buffers."""

from __future__ import annotations

import socket as sockets
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from backend.peer.links.buffers import LEAST_BYTES, bytes_ahead, limit_send_buffer


@contextmanager
def connected(source: str) -> Iterator[tuple[sockets.socket, sockets.socket]]:
    """Both ends of a connection from the address `source` to 127.0.0.1, over which something went."""
    with sockets.create_server(("127.0.0.1", 0)) as listening:
        one = sockets.create_connection(listening.getsockname(), source_address=(source, 0))
        other, _ = listening.accept()
        with one, other:
            one.sendall(b"hello")
            assert other.recv(5) == b"hello"
            yield one, other


def test_a_line_of_a_gigabit_is_kept_full_up_to_what_the_system_does_better() -> None:
    assert bytes_ahead(0.00005) == LEAST_BYTES
    assert bytes_ahead(0.001) == 250_000
    assert bytes_ahead(0.03) is None
    assert bytes_ahead(None) is None


@pytest.mark.skipif(sys.platform != "linux", reason="Other systems do not tell how far the other end is.")
def test_little_is_sent_ahead_to_another_machine_nearby_and_within_one_the_system_decides() -> None:
    with connected("127.0.0.2") as (far, _), connected("127.0.0.1") as (near, _):
        usual = near.getsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF)
        limit_send_buffer(near)
        limit_send_buffer(far)
        assert near.getsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF) == usual
        # Linux doubles what it is told, for its own bookkeeping.
        limited = far.getsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF)
        assert 2 * LEAST_BYTES <= limited < usual


def test_a_connection_that_was_broken_off_meanwhile_is_left_as_it_is() -> None:
    with connected("127.0.0.1") as (one, other):
        # Closed so, it is not ended but broken off.
        other.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()
        with suppress(ConnectionError):
            one.recv(1)
        with pytest.raises(OSError, match="not connected"):
            one.getpeername()
        usual = one.getsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF)
        limit_send_buffer(one)
        assert one.getsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF) == usual
