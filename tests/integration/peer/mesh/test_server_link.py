"""What goes to the server of a mesh: weights by HTTP, and no frame while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from backend.errors import PeerError, UnreachableError
from backend.peer.mesh.server_link import MOST_PARCELS, Upstream, deposit
from backend.wire.mesh_codec import encode_mesh
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.messages import Closing
from tests.support.environment.http_thread import serving


class Store:
    """A real HTTP server that answers PUT with `status`."""

    def __init__(self) -> None:
        self.status = 204
        self.bodies: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                said = b"" if outer.status == 204 else b"No group signed these weights."
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                """Keeps the tests' output quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/weights"


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    with serving(made.http):
        yield made


async def test_weights_are_brought_as_they_are(store: Store) -> None:
    async with httpx.AsyncClient() as client:
        await deposit(client, store.url, bytes(range(200)))
    assert store.bodies == [bytes(range(200))]


async def test_a_server_that_does_not_want_them_says_why(store: Store) -> None:
    store.status = 409
    async with httpx.AsyncClient() as client:
        with pytest.raises(PeerError, match=r"refuses the weights \(409\): No group signed") as refused:
            await deposit(client, store.url, b"weights")
    assert not isinstance(refused.value, UnreachableError)


@pytest.mark.parametrize("status", [500, 503])
async def test_a_server_in_trouble_is_tried_again(store: Store, status: int) -> None:
    store.status = status
    async with httpx.AsyncClient() as client:
        with pytest.raises(UnreachableError, match=str(status)):
            await deposit(client, store.url, b"weights")


async def test_a_server_that_is_away_is_tried_again(store: Store) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(UnreachableError, match="does not answer"):
            await deposit(client, "http://127.0.0.1:9/weights", b"weights")


async def test_nothing_is_carried_before_the_server_knows_this_peer() -> None:
    upstream = Upstream("ws://127.0.0.1:9/")
    assert upstream.signal("0" * 16, b"signal") is False
    for _ in range(2 * MOST_PARCELS):
        assert await upstream.relay("0" * 16, b"parcel") is False
    reason = await upstream.run_once(lambda: None, lambda _: None)
    assert reason
    assert not upstream.is_open


@pytest.mark.parametrize(
    ("code", "waited"), [("banned-by-members", ["evidence", "closing"]), ("banned", ["closing"])]
)
async def test_a_peer_hears_of_its_ban_after_the_round_that_shows_why(code: str, waited: list[str]) -> None:
    async def dismiss(socket: ServerConnection) -> None:
        await socket.send(encode_mesh(Closing(code=code, reason="Banned.")))

    seen: list[str] = []

    async def evidence() -> None:
        await asyncio.sleep(0.1)
        seen.append("evidence")

    async with serve(dismiss, "127.0.0.1", 0, subprotocols=[Subprotocol(MESH_PROTOCOL)]) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        upstream = Upstream(f"ws://127.0.0.1:{port}/")
        upstream.before_ban = evidence
        await upstream.run_once(lambda: None, lambda frame: seen.append(type(frame).__name__.lower()))
    assert seen == waited
