"""Resolves host names that strangers choose, on a few separate threads.

A name server that stays silent keeps the asking thread, for longer than any caller waits. On the event loop's
threads, which averaging and files need too, a few such names would stop a peer.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress

from backend.formats.network_address import is_ip

# Names that are asked for at a time; further ones wait as long as their connection may take.
MOST_LOOKUPS = 4


class NameResolver:
    """Resolves names for one peer's links. IP addresses need no thread, so they are never delayed."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MOST_LOOKUPS)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Returns the IP addresses of `host`. Raises OSError, and ValueError if it cannot be asked for.

        A lookup that is cancelled keeps its thread until the name server answers, or the system gives up.
        """
        if is_ip(host):
            return [host]
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[str]] = loop.create_future()

        def finish(outcome: list[str] | OSError | ValueError) -> None:
            self._free.release()
            if found.done():
                return
            if isinstance(outcome, list):
                found.set_result(outcome)
            else:
                found.set_exception(outcome)

        def look_up() -> None:
            outcome = _look_up(host, port)
            with suppress(RuntimeError):  # The loop is closed: the peer ended meanwhile.
                loop.call_soon_threadsafe(finish, outcome)

        # A daemon: the program may end while a name server is silent.
        threading.Thread(target=look_up, name="name lookup", daemon=True).start()
        return await found


def _look_up(host: str, port: int) -> list[str] | OSError | ValueError:
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, ValueError) as error:
        return error
