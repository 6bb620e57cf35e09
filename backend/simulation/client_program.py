"""A simulated client's program: its connection, downloads and timers, which end when it restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from backend.simulation.network import (
    Caller,
    ServerEndpoint,
    SimulatedConnection,
    SimulatedLine,
    dial,
    download,
)
from backend.wire.codec import encode
from backend.wire.messages import CHUNK_BYTES, Chunk

# Duration of a connection attempt without an answer.
DIAL_SECONDS = 1.0
# Maximum number of chunks for a short vector that represents a very long one.
MAX_CHUNKS = 64


class ClientProgram:
    """Owns the connection of `caller`, its downloads and its timers. Times are seconds.

    Before `offline_until` the server cannot be reached.
    """

    def __init__(self, line: SimulatedLine, endpoint: ServerEndpoint, caller: Caller) -> None:
        self.connection: SimulatedConnection | None = None
        self.offline_until = 0.0
        self._line = line
        self._endpoint = endpoint
        self._caller = caller
        self._loop = asyncio.get_running_loop()
        self._life = 0
        self._cache: set[str] = set()

    def restart(self, cache: bool = True) -> None:
        """Forgets all timers; downloads, too, unless they stay in the `cache`."""
        self._life += 1
        if not cache:
            self._cache.clear()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Runs `action` after `seconds`, unless the program restarts before."""
        life = self._life
        self._loop.call_later(seconds, lambda: action() if life == self._life else None)

    # The connection.

    def dial(self, connected: Callable[[], None], failed: Callable[[], None]) -> None:
        """Opens a connection; calls `connected` or `failed` then, unless the program restarts before."""
        if self._loop.time() < self.offline_until:
            self.later(DIAL_SECONDS, failed)
            return
        life = self._life

        def opened(connection: SimulatedConnection | None) -> None:
            if life != self._life:
                if connection is not None:
                    connection.hang_up()
            elif connection is None:
                failed()
            else:
                self.connection = connection
                connected()

        dial(self._line, self._endpoint, self._caller, opened)

    def send(self, frame: Any, more: int = 0) -> None:
        """Sends a frame if there is a connection, as if it were `more` bytes longer."""
        if self.connection is not None:
            self.connection.send_to_server(encode(frame), more)

    def send_chunks(self, number: int, update: bytes, size: int, start: int, until: int) -> None:
        """Sends bytes [start, until) of `update` as chunks of `number`; it represents one of `size` bytes.

        If it is shorter, so are its chunks, and each byte counts for several.
        """
        vector = memoryview(update)
        byte_factor = max(size / len(vector), 1.0)
        chunk_bytes = max(int(CHUNK_BYTES / byte_factor), len(vector) // MAX_CHUNKS, 1)
        for offset in range(start, until, chunk_bytes):
            data = vector[offset : min(offset + chunk_bytes, until)]
            self.send(Chunk(round=number, offset=offset, data=data), int(len(data) * (byte_factor - 1)))

    def hang_up(self) -> None:
        """Closes the connection in order."""
        if self.connection is not None:
            self.connection.hang_up()
            self.connection = None

    def break_down(self, unnoticed: float) -> None:
        """Breaks the connection; the server notices after `unnoticed` seconds."""
        if self.connection is not None:
            self.connection.break_down(unnoticed)
            self.connection = None

    def ended(self, connection: SimulatedConnection) -> bool:
        """Takes that the server ended a connection; returns whether it was the current one."""
        if connection is not self.connection:
            return False
        self.connection = None
        return True

    # Downloads.

    def fetch(self, downloads: dict[str, int]) -> float:
        """Downloads what is not cached yet, by address with its bytes; returns the duration in seconds."""
        missing = {address: size for address, size in downloads.items() if address not in self._cache}
        self._cache |= missing.keys()
        return max(
            (download(self._line, self._endpoint.line, size) for size in missing.values()), default=0.0
        )
