"""uvicorn, set up for sockets that carry vectors."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from backend.errors import SettingsError
from backend.settings import Limits
from backend.web.http import Http, Sockets
from backend.wire.codec import MAX_CLIENT_FRAME

BACKLOG = 512
PING_SECONDS = 20.0
SHUTDOWN_SECONDS = 5


class Server(uvicorn.Server):
    """uvicorn that says when it is listening, and leaves what a signal means to its caller."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening
        self.interrupted = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's own, then the report."""
        await super().startup(sockets)
        self._listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Notes Ctrl-C, then shuts down; a second one does so without waiting."""
        self.interrupted = self.interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises a signal again at its end, before our stores are closed; this does not."""
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """A bound socket; `port` 0 takes a free one. Raises SettingsError when it cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"The address {host}:{port} cannot be used ({error.strerror}). "
            "Choose another with --port (0 takes a free one) or --host."
        ) from error


def address_of(bound: socket.socket) -> str:
    """URL under which a bound socket is reached."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Starlette, bound: socket.socket, listening: Callable[[], None]) -> None:
    """Serves until SIGTERM (returns) or Ctrl-C (KeyboardInterrupt), after closing everything.

    Raises what the application's start-up raises.
    """
    server = Server(_config(app, app.state.settings.limits), listening)

    async def run() -> None:
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[bound])

    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(run())
    if server.interrupted:
        raise KeyboardInterrupt


def _config(app: Starlette, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        http=partial(Http, limits=limits),  # type: ignore[arg-type]
        ws=Sockets,
        ws_max_size=MAX_CLIENT_FRAME,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.max_connections,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        # `serve` enters it, so that its errors reach the caller.
        lifespan="off",
    )
