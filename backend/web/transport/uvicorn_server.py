"""Runs uvicorn, configured for sockets that carry vectors."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from types import FrameType

import structlog
import uvicorn
from starlette.applications import Starlette

from backend.errors import SettingsError
from backend.settings import ServerLimits, Settings
from backend.web.transport.connection_limiter import ConnectionLimiter
from backend.web.transport.http_protocol import Http
from backend.web.transport.websocket_protocol import Sockets

log = structlog.stdlib.get_logger("minga.server")

BACKLOG = 512
# A connection that downloads a file also needs the file's and a duplicate descriptor. OTHER_FILES includes
# the records.
FILES_EACH, OTHER_FILES = 3, 256
SHUTDOWN_SECONDS = 5


class UvicornServer(uvicorn.Server):
    """A uvicorn server that reports when it listens, and leaves the meaning of signals to its caller."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening
        self.interrupted = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Extends uvicorn's: reports that the server listens."""
        await super().startup(sockets)
        # The objects of start-up live as long as the server, so the collector need not scan them.
        gc.collect()
        gc.freeze()
        self._listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Records Ctrl-C and shuts down; a second signal shuts down without waiting."""
        self.interrupted = self.interrupted or sig == signal.SIGINT
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles signals without raising them again at the end, as uvicorn does before stores close."""
        previous = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


class EmbeddedServer(UvicornServer):
    """A server beside other work of its process, which owns the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals alone."""
        yield


def bind(host: str, port: int) -> socket.socket:
    """Returns a bound socket; `port` 0 takes a free one. Raises SettingsError if binding fails."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"The address {host}:{port} cannot be used ({error.strerror}). "
            "Choose another with --port (0 takes a free one) or --host."
        ) from error


def allow_connections(limits: ServerLimits) -> ServerLimits:
    """Raises the limit on open files to what `limits` need. Returns limits with what it allows."""
    try:
        import resource
    except ImportError:
        return limits  # Windows has no such limit.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    required = FILES_EACH * limits.max_connections + OTHER_FILES
    allowed = required if hard == resource.RLIM_INFINITY else min(required, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    maximum = max(1, min(limits.max_connections, allowed - OTHER_FILES))
    if maximum < limits.max_connections:
        log.warning(
            "The system allows too few open files (ulimit -n) for MINGA_MAX_CONNECTIONS.", let_in=maximum
        )
    return replace(limits, max_connections=maximum)


def address_of(bound: socket.socket) -> str:
    """Returns the URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Starlette, bound: socket.socket, listening: Callable[[], None]) -> None:
    """Serves until SIGTERM (returns) or Ctrl-C (KeyboardInterrupt), after closing everything.

    Raises what the application's start-up raises.
    """
    server = UvicornServer(_config(app, app.state.settings), listening)

    async def run() -> None:
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[bound])

    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(run())
    if server.interrupted:
        raise KeyboardInterrupt


@asynccontextmanager
async def serving(app: Starlette, bound: socket.socket) -> AsyncIterator[str]:
    """Serves in the running event loop, and yields the URL; closes everything at the end.

    Raises what the application's start-up raises.
    """
    listening = asyncio.Event()
    server = EmbeddedServer(_config(app, app.state.settings), listening.set)
    async with app.router.lifespan_context(app):
        running = asyncio.create_task(server.serve(sockets=[bound]))
        started = asyncio.create_task(listening.wait())
        await asyncio.wait([running, started], return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        try:
            yield address_of(bound)
        finally:
            server.should_exit = True
            await running


def _config(app: Starlette, settings: Settings) -> uvicorn.Config:
    limiter = ConnectionLimiter(allow_connections(settings.limits), settings.trusted_proxies, monotonic)
    ping_seconds = settings.limits.idle_seconds / 2
    return uvicorn.Config(
        app,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        http=partial(Http, limiter=limiter),  # type: ignore[arg-type]  # uvicorn only calls it.
        ws=Sockets,
        ws_max_size=settings.limits.max_message_bytes,
        # The size of compressed messages is unknown before they are inflated, and vectors do not shrink.
        ws_per_message_deflate=False,
        ws_ping_interval=ping_seconds,
        ws_ping_timeout=ping_seconds,
        timeout_keep_alive=settings.limits.keep_alive_seconds,
        access_log=False,
        log_config=None,
        server_header=False,
        # X-Forwarded-Proto is trusted only from these proxies.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        # `serve` enters the lifespan, so that its errors reach the caller.
        lifespan="off",
    )
