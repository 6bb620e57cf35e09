"""Ends a download from outside of it, so that no host can hold its thread.

The HTTP client of the standard library reads status lines, interim answers and trailers by itself: a host
that sends these slowly, or without end, is never silent for long, and no code of ours runs in between.
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
    """Shuts a connection down once `problem` returns an error, on a thread of its own: a context manager.

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
