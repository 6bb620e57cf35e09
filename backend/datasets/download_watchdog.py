"""Ends a download from another thread, so that no host can block its thread.

The HTTP client of the standard library reads status lines, interim answers and trailers itself: a host that
sends these slowly, or endlessly, is never silent for long, and our code does not run in between.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from backend.errors import MingaError

_CHECK_SECONDS = 0.2


class DownloadWatchdog:
    """Context manager that closes a connection, from a separate thread, once `problem` returns an error.

    `problem` is called from both threads.
    """

    def __init__(self, problem: Callable[[], MingaError | None]) -> None:
        self._problem = problem
        self._socket: socket.socket | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="download watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()

    def attach(self, connection: socket.socket) -> None:
        """Takes the socket to shut down."""
        self._socket = connection

    def check(self) -> None:
        """Raises the error for which the download has to end, if there is one."""
        if (error := self._problem()) is not None:
            raise error

    def _watch(self) -> None:
        while not self._is_over.wait(_CHECK_SECONDS):
            if self._socket is not None and self._problem() is not None:
                # Not the method of TLS sockets, which changes the state that the other thread reads by.
                with suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
