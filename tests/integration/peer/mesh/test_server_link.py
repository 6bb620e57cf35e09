"""What goes to the server of a mesh: weights by HTTP, and no frame while it is away."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from backend.errors import PeerError, UnreachableError
from backend.peer.mesh.server_link import MOST_PARCELS, Upstream, deposit
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
